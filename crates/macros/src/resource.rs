//! `#[pilothouse::resource]` and `#[pilothouse::schema]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, Error, Meta, Result};

/// The spec of a custom resource.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let input = parse(item, "resource")?;
    if options.is_empty() {
        return Err(Error::new_spanned(
            &input.ident,
            "what resource? for example `#[pilothouse::resource(group = \"demo.example.com\", version = \"v1\", kind = \"Cache\", namespaced)]`",
        ));
    }
    let shared = shared(&input);
    Ok(quote! {
        #[derive(::pilothouse::kube::CustomResource)]
        #[kube(
            #options,
            crates(
                kube_core = "::pilothouse::kube::core",
                k8s_openapi = "::pilothouse::k8s_openapi",
                schemars = "::pilothouse::schemars",
                serde = "::pilothouse::serde",
                serde_json = "::pilothouse::serde_json",
            )
        )]
        #shared
        #input
    })
}

/// A part of a resource.
pub(crate) fn expand_part(options: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let input = parse(item, "schema")?;
    if !options.is_empty() {
        return Err(Error::new_spanned(options, "`#[pilothouse::schema]` takes no arguments"));
    }
    let shared = shared(&input);
    Ok(quote! {
        #shared
        #input
    })
}

fn parse(item: TokenStream, attribute: &str) -> Result<DeriveInput> {
    syn::parse2(item).map_err(|error| {
        Error::new(error.span(), format!("`#[pilothouse::{attribute}]` belongs on a struct or an enum"))
    })
}

/// The derives that all parts of a resource need, without those that the author has written already.
fn shared(input: &DeriveInput) -> TokenStream {
    let mut written = Vec::new();
    for attribute in &input.attrs {
        if let Meta::List(list) = &attribute.meta
            && list.path.is_ident("derive")
        {
            // What does not parse is reported by the compiler.
            let _ = list.parse_nested_meta(|meta| {
                written.extend(meta.path.segments.last().map(|segment| segment.ident.to_string()));
                Ok(())
            });
        }
    }
    let derives = ["Clone", "Debug", "PartialEq"]
        .into_iter()
        .filter(|name| !written.iter().any(|known| known == name))
        .map(|name| syn::Ident::new(name, proc_macro2::Span::call_site()));
    let fields = matches!(input.data, syn::Data::Struct(_)).then(|| quote!(rename_all = "camelCase",));
    quote! {
        #[derive(
            #(#derives,)*
            ::pilothouse::serde::Serialize,
            ::pilothouse::serde::Deserialize,
            ::pilothouse::schemars::JsonSchema,
        )]
        #[serde(#fields crate = "::pilothouse::serde")]
        #[schemars(crate = "::pilothouse::schemars")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_uses_are_told_in_words() {
        let error = expand(
            quote!(),
            quote!(
                struct A {}
            ),
        )
        .unwrap_err()
        .to_string();
        assert!(error.starts_with("what resource? for example"), "{error}");
        let error = expand(
            quote!(kind = "A"),
            quote!(
                fn a() {}
            ),
        )
        .unwrap_err()
        .to_string();
        assert_eq!(error, "`#[pilothouse::resource]` belongs on a struct or an enum");
        let error = expand_part(
            quote!(x),
            quote!(
                struct A {}
            ),
        )
        .unwrap_err()
        .to_string();
        assert_eq!(error, "`#[pilothouse::schema]` takes no arguments");
    }
}
