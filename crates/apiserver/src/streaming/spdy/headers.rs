//! Name/value blocks: the headers of a stream, in one zlib stream a direction that lasts as long as the connection and
//! begins with a dictionary both sides know (SPDY draft 3, section 2.6.10.1).

use std::sync::LazyLock;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// The largest name/value block that is taken, decompressed, in bytes. Kubernetes' are below 200.
const MAX_BLOCK: usize = 64 * 1024;

/// The dictionary is a list of words, each behind its length, and then a run of plain text.
static DICTIONARY: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut bytes = Vec::with_capacity(1423);
    for word in WORDS {
        bytes.extend((word.len() as u32).to_be_bytes());
        bytes.extend(word.bytes());
    }
    bytes.extend(TEXT.concat().bytes());
    bytes
});

#[rustfmt::skip]
const WORDS: &[&str] = &[
    "options", "head", "post", "put", "delete", "trace", "accept", "accept-charset", "accept-encoding",
    "accept-language", "accept-ranges", "age", "allow", "authorization", "cache-control", "connection", "content-base",
    "content-encoding", "content-language", "content-length", "content-location", "content-md5", "content-range",
    "content-type", "date", "etag", "expect", "expires", "from", "host", "if-match", "if-modified-since",
    "if-none-match", "if-range", "if-unmodified-since", "last-modified", "location", "max-forwards", "pragma",
    "proxy-authenticate", "proxy-authorization", "range", "referer", "retry-after", "server", "te", "trailer",
    "transfer-encoding", "upgrade", "user-agent", "vary", "via", "warning", "www-authenticate", "method", "get",
    "status", "200 OK", "version", "HTTP/1.1", "url", "public", "set-cookie", "keep-alive", "origin",
];

const TEXT: &[&str] = &[
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505",
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized",
    "403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable",
    "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT",
    "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,",
    "text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdch",
    "charset=utf-8charset=iso-8859-1,utf-,*,enq=0.",
];

/// Why a name/value block was refused. The connection cannot go on: the zlib stream is out of step.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(super) enum HeaderError {
    /// The compressed bytes are damaged, or use another dictionary.
    #[error("the headers are no zlib stream with the SPDY dictionary")]
    Zlib,
    /// More than [`MAX_BLOCK`].
    #[error("the headers are larger than {MAX_BLOCK} bytes")]
    TooLarge,
    /// Lengths that do not fit the block.
    #[error("the headers are cut off")]
    CutOff,
}

/// The headers of a stream, names in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Headers(pub(super) Vec<(String, String)>);

impl Headers {
    /// The value of a header; `name` in lower case.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Reads the blocks of one direction.
pub(super) struct Inflater(Decompress);

impl Inflater {
    pub(super) fn new() -> Self {
        Self(Decompress::new(true))
    }

    pub(super) fn read(&mut self, compressed: &[u8]) -> Result<Headers, HeaderError> {
        parse(&self.inflate(compressed)?)
    }

    fn inflate(&mut self, compressed: &[u8]) -> Result<Vec<u8>, HeaderError> {
        let mut block = Vec::with_capacity(1024);
        let mut rest = compressed;
        loop {
            let before = (self.0.total_in(), self.0.total_out());
            let step = self.0.decompress_vec(rest, &mut block, FlushDecompress::Sync);
            let used = usize::try_from(self.0.total_in() - before.0).map_err(|_| HeaderError::Zlib)?;
            rest = rest.get(used..).ok_or(HeaderError::Zlib)?;
            match step {
                Ok(Status::Ok | Status::BufError) => {}
                Ok(Status::StreamEnd) => return Err(HeaderError::Zlib),
                Err(error) => {
                    // Asked for once, by the first block of the connection.
                    if error.needs_dictionary().is_none() {
                        return Err(HeaderError::Zlib);
                    }
                    self.0.set_dictionary(&DICTIONARY).map_err(|_| HeaderError::Zlib)?;
                    continue;
                }
            }
            if block.len() > MAX_BLOCK {
                return Err(HeaderError::TooLarge);
            }
            let full = block.len() == block.capacity();
            if rest.is_empty() && !full {
                return Ok(block);
            }
            let moved = (self.0.total_in(), self.0.total_out()) != before;
            if !moved && !full {
                return Err(HeaderError::Zlib);
            }
            block.reserve(4096);
        }
    }
}

fn parse(block: &[u8]) -> Result<Headers, HeaderError> {
    let mut rest = block;
    let count = take_u32(&mut rest)?;
    let mut headers = Vec::new();
    for _ in 0..count {
        let name = take_text(&mut rest)?.to_ascii_lowercase();
        headers.push((name, take_text(&mut rest)?));
    }
    Ok(Headers(headers))
}

fn take_u32(rest: &mut &[u8]) -> Result<u32, HeaderError> {
    let (bytes, tail) = rest.split_first_chunk::<4>().ok_or(HeaderError::CutOff)?;
    *rest = tail;
    Ok(u32::from_be_bytes(*bytes))
}

fn take_text(rest: &mut &[u8]) -> Result<String, HeaderError> {
    let length = take_u32(rest)? as usize;
    let text = rest.get(..length).ok_or(HeaderError::CutOff)?;
    *rest = &rest[length..];
    Ok(String::from_utf8_lossy(text).into_owned())
}

/// Writes the blocks of one direction.
pub(super) struct Deflater(Compress);

impl Deflater {
    pub(super) fn new() -> Result<Self, HeaderError> {
        let mut compress = Compress::new(Compression::best(), true);
        compress.set_dictionary(&DICTIONARY).map_err(|_| HeaderError::Zlib)?;
        Ok(Self(compress))
    }

    pub(super) fn write(&mut self, headers: &Headers) -> Result<Vec<u8>, HeaderError> {
        let mut block = Vec::new();
        block.extend((headers.0.len() as u32).to_be_bytes());
        for (name, value) in &headers.0 {
            for text in [name, value] {
                block.extend((text.len() as u32).to_be_bytes());
                block.extend(text.bytes());
            }
        }
        let mut compressed = Vec::with_capacity(block.len() + 64);
        let mut rest = block.as_slice();
        loop {
            let before = self.0.total_in();
            self.0.compress_vec(rest, &mut compressed, FlushCompress::Sync).map_err(|_| HeaderError::Zlib)?;
            let used = usize::try_from(self.0.total_in() - before).map_err(|_| HeaderError::Zlib)?;
            rest = rest.get(used..).ok_or(HeaderError::Zlib)?;
            if rest.is_empty() && compressed.len() < compressed.capacity() {
                return Ok(compressed);
            }
            compressed.reserve(1024);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn headers(pairs: &[(&str, &str)]) -> Headers {
        Headers(pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
    }

    #[test]
    fn the_dictionary_is_the_drafts() {
        // Its Adler-32 goes over the wire in each first block, so it is well known.
        let (a, b) = DICTIONARY.iter().fold((1u32, 0u32), |(a, b), byte| {
            let a = (a + u32::from(*byte)) % 65521;
            (a, (b + a) % 65521)
        });
        assert_eq!((DICTIONARY.len(), b << 16 | a), (1423, 0xe3c6_a7c2));
    }

    #[test]
    fn blocks_follow_each_other_in_one_stream() {
        let (mut writer, mut reader) = (Deflater::new().unwrap(), Inflater::new());
        for pairs in [&[("streamtype", "error")][..], &[("streamtype", "stdin"), ("x", "")][..], &[][..]] {
            let sent = headers(pairs);
            assert_eq!(reader.read(&writer.write(&sent).unwrap()).unwrap(), sent);
        }
    }

    #[test]
    fn a_block_that_swells_is_refused() {
        let (mut writer, mut reader) = (Deflater::new().unwrap(), Inflater::new());
        let big = "a".repeat(MAX_BLOCK + 1);
        let block = writer.write(&headers(&[("x", &big)])).unwrap();
        assert_eq!(reader.read(&block), Err(HeaderError::TooLarge));
    }

    proptest! {
        #[test]
        fn any_bytes_are_headers_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&bytes);
            let _ = Inflater::new().read(&bytes);
        }
    }
}
