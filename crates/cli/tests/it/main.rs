//! The command and the house it stands in.

mod doors;
