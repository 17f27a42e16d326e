//! Room to be opened.
