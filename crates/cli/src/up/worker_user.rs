//! Which user nginx's workers become when root starts it.

use std::fs;

/// A user that exists, with its group.
pub(super) struct WorkerUser {
    pub name: String,
    pub group: String,
    pub gid: u32,
}

/// In the order of preference: Debian's, nginx.org's, everybody's.
const KNOWN: [&str; 3] = ["www-data", "nginx", "nobody"];

impl WorkerUser {
    /// None if we are not root: then workers stay what we are.
    pub fn find() -> Option<Self> {
        if super::run_dir::user() != 0 {
            return None;
        }
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let groups = fs::read_to_string("/etc/group").unwrap_or_default();
        Self::among(&users, &groups)
    }

    fn among(users: &str, groups: &str) -> Option<Self> {
        let rows = |text: &str| -> Vec<Vec<String>> {
            text.lines().map(|line| line.split(':').map(str::to_owned).collect()).collect()
        };
        let (users, groups) = (rows(users), rows(groups));
        KNOWN.iter().find_map(|known| {
            // passwd(5): name:password:uid:gid:...; group(5): name:password:gid:...
            let user = users.iter().find(|user| user.first().is_some_and(|name| name == known))?;
            let group = groups.iter().find(|group| group.get(2).is_some() && group.get(2) == user.get(3))?;
            Some(Self { name: (*known).to_owned(), group: group[0].clone(), gid: group[2].parse().ok()? })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_is_the_user_s_own() {
        let users = "root:x:0:0::/:\nnobody:x:65534:65534::/:\n";
        let found = WorkerUser::among(users, "root:x:0:\nnogroup:x:65534:\n").expect("is there");
        assert_eq!((found.name.as_str(), found.group.as_str(), found.gid), ("nobody", "nogroup", 65534));
        assert!(WorkerUser::among(users, "").is_none() && WorkerUser::among("broken", "").is_none());
    }
}
