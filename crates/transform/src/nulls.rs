//! `removeNulls` and `replaceNulls`.

use bumpalo::Bump;
use memchr::memchr;

use crate::byteset::ByteSet;
use crate::edit::{Edit, edit};

pub(crate) const NULL: ByteSet = ByteSet::from_list(&[0]);

pub(crate) fn remove<'a>(arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    let run = |rest: &[u8]| rest.iter().take_while(|&&byte| byte == 0).count();
    edit(arena, input, |rest| memchr(0, rest), |rest| Edit::Drop(run(rest)))
}

pub(crate) fn replace<'a>(arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    edit(arena, input, |rest| memchr(0, rest), |_| Edit::Byte(b' ', 1))
}
