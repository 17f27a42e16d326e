//! Answers of others that are kept for a while.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Answers by what was asked. When there are too many, those go first that are good for the shortest time.
#[derive(Debug)]
pub(crate) struct Kept<T> {
    most: usize,
    answers: Mutex<HashMap<String, (Instant, T)>>,
}

impl<T: Clone> Kept<T> {
    /// No answers yet, and room for so many.
    pub(crate) fn new(most: usize) -> Kept<T> {
        Kept { most, answers: Mutex::default() }
    }

    /// The answer, if it is still good.
    pub(crate) fn get(&self, asked: &str) -> Option<T> {
        let answers = self.answers.lock();
        answers.get(asked).filter(|(until, _)| Instant::now() < *until).map(|(_, answer)| answer.clone())
    }

    /// Keeps an answer for a time; none for no time.
    pub(crate) fn put(&self, asked: String, answer: T, time: Duration) {
        if time.is_zero() {
            return;
        }
        let now = Instant::now();
        let mut answers = self.answers.lock();
        if answers.len() >= self.most {
            answers.retain(|_, (until, _)| now < *until);
        }
        if answers.len() >= self.most {
            let first = answers.iter().min_by_key(|(_, (until, _))| *until).map(|(asked, _)| asked.clone());
            first.map(|first| answers.remove(&first));
        }
        answers.insert(asked, (now + time, answer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn answers_are_kept_for_their_time_and_the_newest_stay() {
        let kept = Kept::new(2);
        kept.put("a".into(), 1, Duration::from_secs(1));
        kept.put("b".into(), 2, Duration::from_secs(5));
        kept.put("none".into(), 3, Duration::ZERO);
        assert_eq!((kept.get("a"), kept.get("b"), kept.get("none")), (Some(1), Some(2), None));
        kept.put("c".into(), 3, Duration::from_secs(9));
        assert_eq!((kept.get("a"), kept.get("b")), (None, Some(2)));
        tokio::time::advance(Duration::from_secs(6)).await;
        assert_eq!((kept.get("b"), kept.get("c")), (None, Some(3)));
    }
}
