//! `#[pilothouse::test]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Error, Expr, ExprLit, ItemFn, Lit, MetaNameValue, Result, Token};

pub(crate) fn expand(options: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let function: ItemFn = syn::parse2(item)
        .map_err(|error| Error::new(error.span(), "`#[pilothouse::test]` belongs on an `async fn`"))?;
    let signature = &function.sig;
    if signature.asyncness.is_none() {
        return Err(Error::new_spanned(signature.fn_token, "a test with a cluster must be an `async fn`"));
    }
    if signature.inputs.len() != 1 {
        return Err(Error::new_spanned(
            signature,
            format!(
                "a test with a cluster takes exactly one argument: `async fn {}(cluster: Cluster)`",
                signature.ident
            ),
        ));
    }
    if !signature.generics.params.is_empty() {
        return Err(Error::new_spanned(&signature.generics, "a test cannot be generic"));
    }
    let options = read(options)?;
    let (name, attributes, visibility) = (&signature.ident, &function.attrs, &function.vis);
    let (arguments, output, body) = (&signature.inputs, &signature.output, &function.block);
    Ok(quote! {
        #(#attributes)*
        #[::core::prelude::v1::test]
        #visibility fn #name() {
            async fn #name(#arguments) #output #body
            ::pilothouse_testkit::run(#options, #name)
        }
    })
}

fn read(options: TokenStream) -> Result<TokenStream> {
    let mut built = quote!(::pilothouse_testkit::Options::default());
    for option in Punctuated::<MetaNameValue, Token![,]>::parse_terminated.parse2(options)? {
        let Expr::Lit(ExprLit { lit, .. }) = &option.value else {
            return Err(Error::new_spanned(&option.value, "expected a literal"));
        };
        let name = option.path.get_ident().map(ToString::to_string).unwrap_or_default();
        built = match (name.as_str(), lit) {
            ("clock", Lit::Str(clock)) if clock.value() == "real" => quote!(#built.real_clock()),
            ("clock", Lit::Str(clock)) if clock.value() == "paused" => built,
            ("clock", other) => return Err(Error::new_spanned(other, "expected `\"paused\"` or `\"real\"`")),
            ("controllers", Lit::Bool(controllers)) => quote!(#built.controllers(#controllers)),
            ("controllers", other) => return Err(Error::new_spanned(other, "expected `true` or `false`")),
            _ => {
                return Err(Error::new_spanned(
                    &option.path,
                    "unknown option; there are `clock = \"real\"` and `controllers = false`",
                ));
            }
        };
    }
    Ok(built)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(options: TokenStream, item: TokenStream) -> String {
        expand(options, item).unwrap_err().to_string()
    }

    #[test]
    fn wrong_uses_are_told_in_words() {
        let good = quote!(
            async fn a(cluster: Cluster) {}
        );
        assert_eq!(
            message(
                quote!(),
                quote!(
                    fn a(cluster: Cluster) {}
                )
            ),
            "a test with a cluster must be an `async fn`"
        );
        assert_eq!(
            message(
                quote!(),
                quote!(
                    async fn a() {}
                )
            ),
            "a test with a cluster takes exactly one argument: `async fn a(cluster: Cluster)`"
        );
        assert_eq!(
            message(
                quote!(),
                quote!(
                    struct A;
                )
            ),
            "`#[pilothouse::test]` belongs on an `async fn`"
        );
        assert_eq!(message(quote!(clock = "fast"), good.clone()), "expected `\"paused\"` or `\"real\"`");
        assert_eq!(
            message(quote!(clocks = "real"), good.clone()),
            "unknown option; there are `clock = \"real\"` and `controllers = false`"
        );
        assert!(expand(quote!(clock = "real", controllers = false), good).is_ok());
    }
}
