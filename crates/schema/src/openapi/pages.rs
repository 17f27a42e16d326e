//! The routes that name no resource: discovery, the version, the issuer of tokens.

use pilothouse_value::GroupVersion;

use super::routes::{OBJECTS, OK, Route, meta};

const JSON: &[&str] = &["application/json"];

fn page(path: String, operation: &str, description: &str) -> Route {
    Route {
        method: "get",
        path,
        description: description.to_owned(),
        operation: operation.to_owned(),
        about: None,
        consumes: OBJECTS,
        produces: OBJECTS,
        parameters: Vec::new(),
        body: None,
        answer: None,
        codes: &[OK],
    }
}

/// The list of the resources of a group version.
pub(super) fn resources_of(group_version: &GroupVersion) -> Route {
    let path = format!("/{}/", super::path(group_version));
    let answer = Some(meta("APIResourceList"));
    Route { answer, ..page(path, "getAPIResources", "get available resources") }
}

/// The versions of a group.
pub(super) fn group(name: &str) -> Route {
    let answer = Some(meta("APIGroup"));
    Route { answer, ..page(format!("/apis/{name}/"), "getAPIGroup", "get information of a group") }
}

/// The pages of a server, each with the path of its document below `/openapi/v3/`.
pub(super) fn all() -> [(&'static str, Route); 5] {
    const VERSIONS: &str = "get available API versions";
    const VERSION: &str = "get the version information for this server";
    const ISSUER: &str =
        "get service account issuer OpenID configuration, also known as the 'OIDC discovery doc'";
    const KEYS: &str =
        "get service account issuer OpenID JSON Web Key Set (contains public token verification keys)";
    let core =
        Route { answer: Some(meta("APIVersions")), ..page("/api/".to_owned(), "getAPIVersions", VERSIONS) };
    let groups =
        Route { answer: Some(meta("APIGroupList")), ..page("/apis/".to_owned(), "getAPIVersions", VERSIONS) };
    let version = Route {
        answer: Some("io.k8s.apimachinery.pkg.version.Info".to_owned()),
        consumes: JSON,
        produces: JSON,
        ..page("/version/".to_owned(), "getCodeVersion", VERSION)
    };
    let text = |path: &str, operation: &str, about: &str, produces| Route {
        consumes: &[],
        produces,
        ..page(format!("/{path}/"), operation, about)
    };
    let issuer = ".well-known/openid-configuration";
    let keys = "openid/v1/jwks";
    [
        (issuer, text(issuer, "getServiceAccountIssuerOpenIDConfiguration", ISSUER, JSON)),
        ("api", core),
        ("apis", groups),
        (keys, text(keys, "getServiceAccountIssuerOpenIDKeyset", KEYS, &["application/jwk-set+json"])),
        ("version", version),
    ]
}
