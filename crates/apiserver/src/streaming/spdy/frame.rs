//! Frames, from bytes and to bytes, without any input or output of its own.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::headers::{Deflater, HeaderError, Headers, Inflater};

const VERSION: u16 = 3;
const FIN: u8 = 1;
const HEAD: usize = 8;

const SYN_STREAM: u16 = 1;
const SYN_REPLY: u16 = 2;
const RST_STREAM: u16 = 3;
const PING: u16 = 6;
const GOAWAY: u16 = 7;

/// The largest control frame that is taken, in bytes.
const MAX_CONTROL: usize = 64 * 1024;

/// What the other side sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Incoming {
    /// A new stream.
    Open { stream: u32, headers: Headers, fin: bool },
    /// Content of a stream: a whole data frame, or a piece of a long one. `fin` comes with the last piece.
    Data { stream: u32, data: Bytes, fin: bool },
    /// A stream that we opened was accepted; `fin` says that nothing will come on it.
    Reply { stream: u32, fin: bool },
    /// A stream was given up.
    Reset { stream: u32 },
    /// To be sent back.
    Ping { id: u32 },
    /// No more streams will come.
    GoAway,
    /// A frame that has no meaning here.
    Other,
}

/// Why a connection cannot go on.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(super) enum FrameError {
    /// Not version 3.
    #[error("SPDY version {0} is not spoken here, only 3")]
    Version(u16),
    /// Longer than [`MAX_CONTROL`].
    #[error("a control frame of {0} bytes is too large: at most {MAX_CONTROL}")]
    TooLarge(usize),
    /// Shorter than its type needs.
    #[error("a control frame of type {0} is cut off")]
    CutOff(u16),
    /// The name/value block is damaged.
    #[error(transparent)]
    Headers(#[from] HeaderError),
}

/// Turns bytes into frames.
pub(super) struct Decoder {
    inflater: Inflater,
    /// The data frame that is being read: stream, bytes to come, and whether it is the stream's last.
    open: Option<(u32, usize, bool)>,
}

impl Decoder {
    pub(super) fn new() -> Self {
        Self { inflater: Inflater::new(), open: None }
    }

    /// Takes one frame (or piece of one) off the buffer; `None` when more bytes are needed.
    pub(super) fn next(&mut self, buffer: &mut BytesMut) -> Result<Option<Incoming>, FrameError> {
        if self.open.is_none() {
            let Some(head) = buffer.first_chunk::<HEAD>() else { return Ok(None) };
            let word = u32::from_be_bytes([head[0], head[1], head[2], head[3]]);
            let length = u32::from_be_bytes([0, head[5], head[6], head[7]]) as usize;
            let flags = head[4];
            if word >> 31 == 1 {
                return self.control(buffer, word, flags, length);
            }
            buffer.advance(HEAD);
            self.open = Some((word, length, flags & FIN != 0));
        }
        Ok(self.data(buffer))
    }

    fn data(&mut self, buffer: &mut BytesMut) -> Option<Incoming> {
        let (stream, missing, last) = self.open?;
        if missing > 0 && buffer.is_empty() {
            return None;
        }
        let data = buffer.split_to(missing.min(buffer.len())).freeze();
        let missing = missing - data.len();
        self.open = (missing > 0).then_some((stream, missing, last));
        Some(Incoming::Data { stream, data, fin: last && missing == 0 })
    }

    fn control(
        &mut self,
        buffer: &mut BytesMut,
        word: u32,
        flags: u8,
        length: usize,
    ) -> Result<Option<Incoming>, FrameError> {
        let version = (word >> 16 & 0x7fff) as u16;
        if version != VERSION {
            return Err(FrameError::Version(version));
        }
        if length > MAX_CONTROL {
            return Err(FrameError::TooLarge(length));
        }
        if buffer.len() < HEAD + length {
            return Ok(None);
        }
        buffer.advance(HEAD);
        let mut body = buffer.split_to(length);
        let kind = (word & 0xffff) as u16;
        let number = |body: &mut BytesMut| body.try_get_u32().map_err(|_| FrameError::CutOff(kind));
        Ok(Some(match kind {
            SYN_STREAM => {
                let stream = number(&mut body)? & 0x7fff_ffff;
                let _associated = number(&mut body)?;
                let _priority_and_slot = body.try_get_u16().map_err(|_| FrameError::CutOff(kind))?;
                Incoming::Open { stream, headers: self.inflater.read(&body)?, fin: flags & FIN != 0 }
            }
            SYN_REPLY => {
                let stream = number(&mut body)? & 0x7fff_ffff;
                self.inflater.read(&body)?;
                Incoming::Reply { stream, fin: flags & FIN != 0 }
            }
            // Headers later in a stream mean nothing to us, but they move the zlib stream.
            8 => {
                let _stream = number(&mut body)?;
                self.inflater.read(&body)?;
                Incoming::Other
            }
            RST_STREAM => Incoming::Reset { stream: number(&mut body)? & 0x7fff_ffff },
            PING => Incoming::Ping { id: number(&mut body)? },
            GOAWAY => Incoming::GoAway,
            _ => Incoming::Other,
        }))
    }
}

/// Turns frames into bytes.
pub(super) struct Encoder(Deflater);

impl Encoder {
    pub(super) fn new() -> Result<Self, HeaderError> {
        Ok(Self(Deflater::new()?))
    }

    /// Opens a stream.
    pub(super) fn open(
        &mut self,
        stream: u32,
        headers: &Headers,
        out: &mut BytesMut,
    ) -> Result<(), HeaderError> {
        let block = self.0.write(headers)?;
        control(out, SYN_STREAM, 0, 10 + block.len());
        out.put_u32(stream);
        // Belongs to no other stream, and comes before none.
        out.put_slice(&[0; 6]);
        out.put_slice(&block);
        Ok(())
    }

    /// Accepts a stream.
    pub(super) fn reply(&mut self, stream: u32, out: &mut BytesMut) -> Result<(), HeaderError> {
        let block = self.0.write(&Headers::default())?;
        control(out, SYN_REPLY, 0, 4 + block.len());
        out.put_u32(stream);
        out.put_slice(&block);
        Ok(())
    }

    /// A data frame. `data` is at most 16 MiB long; the connection's chunks are far smaller.
    pub(super) fn data(&self, stream: u32, data: &[u8], fin: bool, out: &mut BytesMut) {
        out.reserve(HEAD + data.len());
        out.put_u32(stream & 0x7fff_ffff);
        out.put_u8(if fin { FIN } else { 0 });
        out.put_uint(data.len() as u64, 3);
        out.put_slice(data);
    }

    /// Refuses a stream.
    pub(super) fn reset(&self, stream: u32, out: &mut BytesMut) {
        const REFUSED: u32 = 3;
        control(out, RST_STREAM, 0, 8);
        out.put_u32(stream);
        out.put_u32(REFUSED);
    }

    pub(super) fn ping(&self, id: u32, out: &mut BytesMut) {
        control(out, PING, 0, 4);
        out.put_u32(id);
    }

    /// The end of the connection; `last` is the last stream that was accepted.
    pub(super) fn go_away(&self, last: u32, out: &mut BytesMut) {
        control(out, GOAWAY, 0, 8);
        out.put_u32(last);
        out.put_u32(0);
    }
}

fn control(out: &mut BytesMut, kind: u16, flags: u8, length: usize) {
    out.reserve(HEAD + length);
    out.put_u16(0x8000 | VERSION);
    out.put_u16(kind);
    out.put_u8(flags);
    out.put_uint(length as u64, 3);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(decoder: &mut Decoder, bytes: &[u8]) -> Result<Vec<Incoming>, FrameError> {
        let mut buffer = BytesMut::from(bytes);
        let mut frames = Vec::new();
        while let Some(frame) = decoder.next(&mut buffer)? {
            frames.push(frame);
        }
        Ok(frames)
    }

    fn open(stream: u32, deflater: &mut Deflater, name: &str) -> BytesMut {
        let headers = Headers(vec![("streamtype".into(), name.into())]);
        let block = deflater.write(&headers).unwrap();
        let mut out = BytesMut::new();
        control(&mut out, SYN_STREAM, 0, 10 + block.len());
        out.put_u32(stream);
        out.put_u32(0);
        out.put_u16(0);
        out.put_slice(&block);
        out
    }

    #[test]
    fn a_conversation_is_read() {
        let mut deflater = Deflater::new().unwrap();
        let encoder = Encoder::new().unwrap();
        let mut bytes = open(1, &mut deflater, "error");
        bytes.extend(open(3, &mut deflater, "stdin"));
        encoder.data(3, b"hi\n", false, &mut bytes);
        encoder.data(3, b"", true, &mut bytes);
        encoder.ping(7, &mut bytes);
        encoder.reset(1, &mut bytes);
        encoder.go_away(3, &mut bytes);
        let headers = |name: &str| Headers(vec![("streamtype".into(), name.into())]);
        let expected = vec![
            Incoming::Open { stream: 1, headers: headers("error"), fin: false },
            Incoming::Open { stream: 3, headers: headers("stdin"), fin: false },
            Incoming::Data { stream: 3, data: Bytes::from_static(b"hi\n"), fin: false },
            Incoming::Data { stream: 3, data: Bytes::new(), fin: true },
            Incoming::Ping { id: 7 },
            Incoming::Reset { stream: 1 },
            Incoming::GoAway,
        ];
        assert_eq!(all(&mut Decoder::new(), &bytes).unwrap(), expected);
    }

    #[test]
    fn a_long_data_frame_comes_in_pieces() {
        let mut bytes = BytesMut::new();
        Encoder::new().unwrap().data(1, &[7; 100], true, &mut bytes);
        let mut decoder = Decoder::new();
        let first = all(&mut decoder, &bytes[..50]).unwrap();
        let second = all(&mut decoder, &bytes[50..]).unwrap();
        assert!(matches!(&first[..], [Incoming::Data { fin: false, data, .. }] if data.len() == 42));
        assert!(matches!(&second[..], [Incoming::Data { fin: true, data, .. }] if data.len() == 58));
    }

    #[test]
    fn another_version_is_refused() {
        let frame = [0x80, 2, 0, 1, 0, 0, 0, 0];
        assert_eq!(all(&mut Decoder::new(), &frame), Err(FrameError::Version(2)));
    }

    #[test]
    fn a_huge_control_frame_is_refused_before_it_is_read() {
        let frame = [0x80, 3, 0, 1, 0, 0xff, 0xff, 0xff];
        assert_eq!(all(&mut Decoder::new(), &frame), Err(FrameError::TooLarge(0xff_ffff)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_frames_or_an_error(
            bytes in proptest::collection::vec(any::<u8>(), 0..600),
            control in any::<bool>(),
        ) {
            let mut bytes = bytes;
            if control && bytes.len() > HEAD {
                bytes[..3].copy_from_slice(&[0x80, 3, 0]);
                bytes[3] %= 10;
                bytes[5..7].copy_from_slice(&[0, 0]);
            }
            let mut buffer = BytesMut::from(&bytes[..]);
            let mut decoder = Decoder::new();
            // Each frame takes something off the buffer or ends a frame, so it comes to an end.
            let mut frames = 0;
            while let Ok(Some(_)) = decoder.next(&mut buffer) {
                frames += 1;
                prop_assert!(frames <= bytes.len());
            }
        }

        #[test]
        fn how_bytes_are_cut_changes_nothing(
            contents in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 1..6),
            cut in 1usize..17,
        ) {
            let mut deflater = Deflater::new().unwrap();
            let encoder = Encoder::new().unwrap();
            let mut bytes = open(1, &mut deflater, "stdin");
            for data in &contents {
                encoder.data(1, data, false, &mut bytes);
            }
            let (mut decoder, mut buffer, mut seen) = (Decoder::new(), BytesMut::new(), Vec::new());
            for piece in bytes.chunks(cut) {
                buffer.extend_from_slice(piece);
                while let Some(frame) = decoder.next(&mut buffer).unwrap() {
                    if let Incoming::Data { data, .. } = frame {
                        seen.extend_from_slice(&data);
                    }
                }
            }
            prop_assert_eq!(seen, contents.concat());
            prop_assert!(buffer.is_empty());
        }
    }
}
