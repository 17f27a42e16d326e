//! The file of an audit log, which makes room for itself: when a line would make it too large, it gets another name and a new
//! file takes its place. Old files are removed, and compressed, by a thread of their own.
//!
//! Source of behaviour: lumberjack 2, which kube-apiserver writes with.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, SyncSender, TrySendError};
use std::thread::JoinHandle;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use pilothouse_store::Clock;
use pilothouse_value::Timestamp;

const MEGABYTE: u64 = 1024 * 1024;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How the names of compressed files end.
const SMALL: &str = ".gz";

/// When the file of an audit log makes room, and what is kept of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditRotation {
    /// Megabytes that the file has at most (`--audit-log-maxsize`); 0: it grows without end. Default: 100.
    pub size: u32,
    /// Days for which old files are kept, by the time in their names (`--audit-log-maxage`); 0: for ever. Default: 366.
    pub age: u32,
    /// How many old files are kept (`--audit-log-maxbackup`); 0: all. Default: 100.
    pub backups: u32,
    /// Whether old files are compressed (`--audit-log-compress`). Default: no.
    pub compress: bool,
}

impl Default for AuditRotation {
    fn default() -> AuditRotation {
        AuditRotation { size: 100, age: 366, backups: 100, compress: false }
    }
}

/// A file that makes room for itself.
#[derive(Debug)]
pub(super) struct RotatedFile {
    place: Place,
    most: u64,
    clock: Clock,
    file: Option<(File, u64)>,
    sweeper: Option<Sweeper>,
}

/// Where the files are, and what is kept of the old ones.
#[derive(Clone, Debug)]
struct Place {
    path: PathBuf,
    rotation: AuditRotation,
}

impl RotatedFile {
    /// The file at a path, which is made if it is not there.
    ///
    /// # Errors
    /// If it cannot be made.
    pub(super) fn open(path: &Path, rotation: AuditRotation, clock: Clock) -> io::Result<RotatedFile> {
        if let Some(folder) = path.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
        let size = file.metadata()?.len();
        let place = Place { path: path.to_owned(), rotation };
        let most = u64::from(rotation.size) * MEGABYTE;
        let sweeper = place.sweeps().then(|| Sweeper::start(place.clone(), clock));
        let mut made = RotatedFile { place, most, clock, file: Some((file, size)), sweeper };
        made.sweep();
        Ok(made)
    }

    fn sweep(&mut self) {
        if let Some(sweeper) = &self.sweeper {
            sweeper.sweep();
        }
    }

    /// Gives the file another name, and begins a new one.
    fn rotate(&mut self) -> io::Result<()> {
        self.file = None;
        let mut mode = 0o600;
        match fs::metadata(&self.place.path) {
            Ok(known) => {
                mode = known.permissions().mode();
                fs::rename(&self.place.path, self.place.old(self.clock.now()))?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let file =
            OpenOptions::new().create(true).write(true).truncate(true).mode(mode).open(&self.place.path)?;
        self.file = Some((file, 0));
        self.sweep();
        Ok(())
    }
}

impl Write for RotatedFile {
    /// Takes a line as a whole, which never goes to two files.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let length = line.len() as u64;
        if self.most > 0 {
            if length > self.most {
                let why = format!("write length {length} exceeds maximum file size {}", self.most);
                return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
            }
            if self.file.as_ref().is_none_or(|(_, size)| size + length > self.most) {
                self.rotate()?;
            }
        }
        let Some((file, size)) = &mut self.file else { return Err(io::ErrorKind::NotFound.into()) };
        file.write_all(line)?;
        *size += length;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Place {
    /// Whether anything is done with old files.
    fn sweeps(&self) -> bool {
        let AuditRotation { size, age, backups, compress } = self.rotation;
        size > 0 && (age > 0 || backups > 0 || compress)
    }

    /// What the names of old files begin and end with.
    fn ends(&self) -> (String, String) {
        let text = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
        let name = text(self.path.file_name());
        let (stem, extension) = match name.rfind('.') {
            Some(dot) => name.split_at(dot),
            None => (name.as_str(), ""),
        };
        (format!("{stem}-"), extension.to_owned())
    }

    fn folder(&self) -> &Path {
        self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    /// The path of the file when it is put aside now.
    fn old(&self, now: Timestamp) -> PathBuf {
        let (begin, end) = self.ends();
        let time = now.micro().replace(':', "-");
        let time = time.get(..23).unwrap_or(&time);
        self.folder().join(format!("{begin}{time}{end}"))
    }

    /// The names of old files, with the times in them, the newest first.
    fn olds(&self) -> io::Result<Vec<(Timestamp, String)>> {
        let (begin, end) = self.ends();
        let time = |name: &str| {
            let name = name.strip_prefix(&begin)?;
            let time = name.strip_suffix(&end).and_then(time_of);
            time.or_else(|| time_of(name.strip_suffix(SMALL)?.strip_suffix(&end)?))
        };
        let mut found = Vec::new();
        for entry in fs::read_dir(self.folder())? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if let Some(time) = time(&name)
                && !entry.file_type()?.is_dir()
            {
                found.push((time, name));
            }
        }
        found.sort_by(|a, b| b.cmp(a));
        Ok(found)
    }

    /// Removes and compresses what is to be.
    fn sweep(&self, now: Timestamp) -> io::Result<()> {
        let AuditRotation { age, backups, compress, .. } = self.rotation;
        let mut files = self.olds()?;
        let mut removed = Vec::new();
        if backups > 0 {
            let mut kept = BTreeSet::new();
            files.retain(|(_, name)| {
                kept.insert(name.strip_suffix(SMALL).unwrap_or(name).to_owned());
                let stays = kept.len() <= backups as usize;
                removed.extend((!stays).then(|| name.clone()));
                stays
            });
        }
        if age > 0 {
            files.retain(|(time, name)| {
                let stays = now.since(*time) <= DAY * age;
                removed.extend((!stays).then(|| name.clone()));
                stays
            });
        }
        let removals = removed.iter().map(|name| fs::remove_file(self.folder().join(name)));
        let large = files.iter().filter(|(_, name)| compress && !name.ends_with(SMALL));
        let compressions = large.map(|(_, name)| make_small(&self.folder().join(name)));
        // One that fails keeps nobody else from being tidied up.
        let failed: Vec<io::Error> = removals.chain(compressions).filter_map(Result::err).collect();
        failed.into_iter().next().map_or(Ok(()), Err)
    }
}

fn time_of(text: &str) -> Option<Timestamp> {
    let (date, time) = text.split_once('T').filter(|_| text.len() == 23)?;
    Timestamp::parse_micro(&format!("{date}T{}000Z", time.replace('-', ":"))).ok()
}

/// Puts a compressed file in the place of one.
fn make_small(path: &Path) -> io::Result<()> {
    let mut small = path.as_os_str().to_owned();
    small.push(SMALL);
    let small = PathBuf::from(small);
    let mut from = File::open(path)?;
    let mode = from.metadata()?.permissions().mode();
    let to = OpenOptions::new().create(true).write(true).truncate(true).mode(mode).open(&small)?;
    let mut encoder = GzEncoder::new(to, Compression::default());
    let written = io::copy(&mut from, &mut encoder).and_then(|_| encoder.finish());
    match written {
        Ok(_) => fs::remove_file(path),
        Err(error) => fs::remove_file(&small).and(Err(error)),
    }
}

/// A thread that tidies up when it is told to, and ends with the file.
#[derive(Debug)]
struct Sweeper {
    told: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Sweeper {
    fn start(place: Place, clock: Clock) -> Sweeper {
        // More than one that waits changes nothing.
        let (told, tells) = mpsc::sync_channel(1);
        let work = move || {
            while tells.recv().is_ok() {
                if let Err(error) = place.sweep(clock.now()) {
                    tracing::warn!(%error, "tidying up behind the audit log");
                }
            }
        };
        let thread = std::thread::Builder::new().name("audit-log".to_owned()).spawn(work);
        Sweeper { told: Some(told), thread: thread.ok() }
    }

    fn sweep(&self) {
        let told = self.told.as_ref().map(|told| told.try_send(()));
        if let Some(Err(TrySendError::Disconnected(()))) = told {
            tracing::warn!("nobody tidies up behind the audit log");
        }
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        self.told = None;
        if let Some(thread) = self.thread.take() {
            // A panic has been told of already.
            let _ended = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn at(text: &str) -> Clock {
        Clock::starting_at(Timestamp::parse(text).unwrap())
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_that_would_grow_too_large_is_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/audit.log");
        let rotation = AuditRotation { size: 1, ..AuditRotation::default() };
        let mut file = RotatedFile::open(&path, rotation, at("2026-11-30T08:00:01Z")).unwrap();
        let half = vec![b'a'; 512 * 1024];
        file.write_all(&half).unwrap();
        file.write_all(&half).unwrap();
        assert_eq!(names(path.parent().unwrap()), ["audit.log"], "it may be as large as it may be");
        file.write_all(b"b").unwrap();
        assert_eq!(names(path.parent().unwrap()), ["audit-2026-11-30T08-00-01.000.log", "audit.log"]);
        assert_eq!(fs::read(&path).unwrap(), b"b");
        let error = file.write(&vec![b'c'; 1024 * 1024 + 1]).unwrap_err();
        assert_eq!(error.to_string(), "write length 1048577 exceeds maximum file size 1048576");
        drop(file);
        let mut again = RotatedFile::open(&path, rotation, at("2026-11-30T08:00:02.5Z")).unwrap();
        again.write_all(b"d").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"bd", "what was there is added to");
    }

    #[tokio::test(start_paused = true)]
    async fn old_files_are_removed_by_number_and_by_age_and_the_others_compressed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let old = |name: &str| fs::write(folder.path().join(name), name).unwrap();
        old("audit-2026-11-01T00-00-00.000.log");
        old("audit-2026-11-28T00-00-00.000.log.gz");
        old("audit-2026-11-29T00-00-00.000.log");
        old("audit-2026-11-30T00-00-00.000.log");
        old("audit-2026-11-30T00-00.log");
        old("other-2020-01-01T00-00-00.000.log");
        let rotation = AuditRotation { size: 1, age: 7, backups: 2, compress: true };
        drop(RotatedFile::open(&path, rotation, at("2026-11-30T08:00:00Z")).unwrap());
        let kept = [
            "audit-2026-11-29T00-00-00.000.log.gz",
            "audit-2026-11-30T00-00-00.000.log.gz",
            "audit-2026-11-30T00-00.log",
            "audit.log",
            "other-2020-01-01T00-00-00.000.log",
        ];
        assert_eq!(names(folder.path()), kept);
        let small = File::open(folder.path().join(kept[0])).unwrap();
        let mut text = String::new();
        flate2::read::GzDecoder::new(small).read_to_string(&mut text).unwrap();
        assert_eq!(text, "audit-2026-11-29T00-00-00.000.log");
        let rotation = AuditRotation { backups: 0, age: 1, ..rotation };
        drop(RotatedFile::open(&path, rotation, at("2026-12-01T00:00:00.001Z")).unwrap());
        assert_eq!(
            names(folder.path())[0],
            "audit-2026-11-30T00-00.log",
            "a day and a millisecond are too old"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_without_a_largest_size_stays_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let rotation = AuditRotation { size: 0, ..AuditRotation::default() };
        let mut file = RotatedFile::open(&path, rotation, Clock::new()).unwrap();
        file.write_all(&vec![b'a'; 3 * 1024 * 1024]).unwrap();
        assert_eq!(names(folder.path()), ["audit.log"]);
    }
}
