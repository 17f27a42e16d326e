//! Bodies that come compressed: unpacked where the client did not ask for it, and around the change of a page.

use std::io::{self, Write as _};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::{DeflateDecoder, DeflateEncoder, GzDecoder, GzEncoder};
use futures::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;

use super::Flow;

/// The body, unpacked as it comes.
pub(super) fn gunzip(body: Flow) -> Flow {
    let state = (body, Some(GzDecoder::new(Vec::new())));
    let parts = stream::unfold(state, |(mut body, decoder)| async move {
        let mut decoder = decoder?;
        loop {
            let part = match body.frame().await {
                Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
                Some(Err(error)) => return Some((Err(error), (body, None))),
                None => {
                    let rest = decoder.finish().map(|rest| Frame::data(Bytes::from(rest)));
                    return Some((rest, (body, None)));
                }
            };
            if let Err(error) = decoder.write_all(&part).and_then(|()| decoder.flush()) {
                return Some((Err(error), (body, None)));
            }
            let plain = std::mem::take(decoder.get_mut());
            if !plain.is_empty() {
                return Some((Ok(Frame::data(Bytes::from(plain))), (body, Some(decoder))));
            }
        }
    });
    BodyExt::boxed_unsync(StreamBody::new(parts))
}

/// How a page is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    None,
    Gzip,
    Deflate,
}

impl Packing {
    /// The packing of that name; `None` if it is not known here.
    pub(super) fn named(name: &str) -> Option<Packing> {
        match name {
            "" => Some(Packing::None),
            "gzip" => Some(Packing::Gzip),
            "deflate" => Some(Packing::Deflate),
            _ => None,
        }
    }

    /// The page, of no more than so many bytes.
    ///
    /// # Errors
    /// If it is packed otherwise, or longer.
    pub(super) fn unpack(self, packed: &Bytes, most: usize) -> io::Result<Bytes> {
        let limited = || Limited { made: Vec::new(), most };
        match self {
            Packing::None => Ok(packed.clone()),
            Packing::Gzip if !packed.starts_with(&[0x1f, 0x8b]) => {
                Err(io::Error::other("errorf making gzip reader: gzip: invalid header"))
            }
            Packing::Gzip => {
                let mut decoder = GzDecoder::new(limited());
                decoder.write_all(packed)?;
                Ok(decoder.finish()?.made.into())
            }
            Packing::Deflate => {
                let mut decoder = DeflateDecoder::new(limited());
                decoder.write_all(packed)?;
                Ok(decoder.finish()?.made.into())
            }
        }
    }

    /// The page, packed.
    ///
    /// # Errors
    /// Never, as it is packed in memory.
    pub(super) fn pack(self, page: Vec<u8>) -> io::Result<Bytes> {
        match self {
            Packing::None => Ok(page.into()),
            Packing::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(&page)?;
                Ok(encoder.finish()?.into())
            }
            Packing::Deflate => {
                let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
                encoder.write_all(&page)?;
                Ok(encoder.finish()?.into())
            }
        }
    }
}

/// Bytes, up to so many.
struct Limited {
    made: Vec<u8>,
    most: usize,
}

impl io::Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.made.len() + bytes.len() > self.most {
            return Err(io::Error::other(format!("the page is longer than {} bytes", self.most)));
        }
        self.made.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::Full;

    #[test]
    fn a_page_is_the_same_after_it_was_packed() {
        for packing in [Packing::None, Packing::Gzip, Packing::Deflate] {
            let packed = packing.pack(b"page".to_vec()).unwrap();
            assert_eq!(&packing.unpack(&packed, 4).unwrap()[..], b"page");
        }
        let bomb = Packing::Gzip.pack(vec![0; 1 << 20]).unwrap();
        assert!(Packing::Gzip.unpack(&bomb, 1 << 10).is_err());
        assert!(Packing::Gzip.unpack(&Bytes::from_static(b"plain"), 100).is_err());
    }

    #[tokio::test]
    async fn a_body_is_unpacked_as_it_comes() {
        let packed = Packing::Gzip.pack(b"long ".repeat(1000)).unwrap();
        let body = |bytes: Bytes| Full::new(bytes).map_err(|never| match never {}).boxed_unsync();
        let plain = gunzip(body(packed)).collect().await.unwrap().to_bytes();
        assert_eq!(plain, b"long ".repeat(1000));
        assert!(gunzip(body(Bytes::from_static(b"not packed at all"))).collect().await.is_err());
    }
}
