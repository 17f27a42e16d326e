//! Links in answers that lead to where the answer is from: they are made to lead through the proxy.

use super::go_url::{Url, join};

/// What links are looked at against.
pub(super) struct Links<'a> {
    /// The path of the proxy, to which paths of the upstream are appended.
    pub(super) prepend: &'a str,
    /// The host that the answer is from, as in URLs.
    pub(super) upstream: &'a str,
    /// The host that the client asked.
    pub(super) asked: &'a str,
}

impl Links<'_> {
    /// The link, through the proxy if it leads there.
    pub(super) fn through(&self, mut url: Url) -> String {
        let elsewhere = !url.host.is_empty() && url.host != self.upstream && url.host != self.asked;
        if elsewhere || !url.path.starts_with('/') {
            return url.to_string();
        }
        // A link to the host that the client asked is already one that the client can follow.
        if url.host.is_empty() || url.host != self.asked {
            url.scheme.clear();
            url.host.clear();
        }
        if url.path.starts_with(self.prepend) {
            return url.to_string();
        }
        let slash = url.path.ends_with('/');
        url.path = join(self.prepend, &url.path);
        if slash {
            url.path.push('/');
        }
        url.to_string()
    }
}
