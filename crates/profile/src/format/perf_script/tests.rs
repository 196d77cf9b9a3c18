use super::frame;
use super::header::{Header, parse};
use crate::{Frame, Origin};

#[test]
fn headers_of_all_shapes_are_read() {
    let header = |comm, pid, tid, period, event, rest| Some(Header { comm, pid, tid, period, event, rest });
    let cases = [
        ("java 25607 4794564.109216: 1 cycles:", header("java", 25607, 25607, Some(1), "cycles", "")),
        ("java 12688 [002] 6544038.708352: cpu-clock: ", header("java", 12688, 12688, None, "cpu-clock", "")),
        (
            "V8 WorkerThread 25607/25608 94564.109216: 10 cycles:u:",
            header("V8 WorkerThread", 25607, 25608, Some(10), "cycles:u", ""),
        ),
        (
            "go  6157  1224.147545:     250000 cpu-clock:uhH: ",
            header("go", 6157, 6157, Some(250000), "cpu-clock:uhH", ""),
        ),
        (
            "worker 12 7 [001] d.h1 3.5: sched:sched_switch: a=b 3",
            header("worker 12", 7, 7, None, "sched:sched_switch", "a=b 3"),
        ),
        (
            "   dd 5 35.2: 9 cpu-clock:  ffff read+0x1 ([k])",
            header("dd", 5, 5, Some(9), "cpu-clock", "ffff read+0x1 ([k])"),
        ),
        ("func 15294 cpu-clock: ", header("func", 15294, 15294, None, "cpu-clock", "")),
        ("func 15294 [000] 77 cpu-clock: ", header("func", 15294, 15294, Some(77), "cpu-clock", "")),
        ("swapper     0 [001]", header("swapper", 0, 0, None, "", "")),
        (":-1 -1/-1 1.2: 1 cycles:", header(":-1", 0, 0, Some(1), "cycles", "")),
        ("nginx 1.5: cycles:", header("nginx", 0, 0, None, "cycles", "")),
        ("\t  401b97 main+0x1f (./inline-counter)", None),
        ("ffffffff8103d0ca native_safe_halt ([kernel.kallsyms])", None),
        ("\t  12 34 (/usr/lib/x)", None),
        ("  inl.cc:9", None),
        ("1.5: cycles:", None),
        ("", None),
    ];
    for (line, expected) in cases {
        assert_eq!(parse(line), expected, "{line}");
    }
}

/// A line, and name, origin and module of its frames.
type Line<'a> = (&'a str, &'a [(&'a str, Origin, &'a str)]);

#[test]
fn frames_of_all_shapes_are_read() {
    use Origin::{Inlined, Kernel, Marker, Native};
    let cases: &[Line<'_>] = &[
        ("\t  ff vfs_write+0x1c ([kernel.kallsyms])", &[("vfs_write", Kernel, "[kernel.kallsyms]")]),
        ("\t  ff tcp_send (/lib/debug/vmlinux-6.1)", &[("tcp_send", Kernel, "/lib/debug/vmlinux-6.1")]),
        ("\t  ff rx (/lib/m/mlx5.ko.zst)", &[("rx", Kernel, "/lib/m/mlx5.ko.zst")]),
        ("\t  ff __vdso_time ([vdso])", &[("__vdso_time", Native, "[vdso]")]),
        ("\t  ff main+0x1 (/opt/a b/x (deleted))", &[("main", Native, "/opt/a b/x")]),
        ("\t  ff ngx_min (inlined)", &[("ngx_min", Inlined, "")]),
        ("\t  ff [unknown] (/usr/lib/libc.so.6)", &[("[unknown]", Marker, "/usr/lib/libc.so.6")]),
        ("\t  ff [unknown] ([unknown])", &[("[unknown]", Marker, "")]),
        ("\t  ff [unknown] ([kernel.kallsyms])", &[("[kernel.kallsyms]", Kernel, "[kernel.kallsyms]")]),
        ("\t  ff  (/usr/lib/libc.so.6)", &[("[unknown]", Marker, "/usr/lib/libc.so.6")]),
        ("\t  ff main", &[("main", Native, "")]),
        ("ff main", &[]),
        ("\t  hello main (/x)", &[]),
        (
            "\t  ff La/B;::c->La/D;::e+0x1 (/tmp/perf-1.map)",
            &[("a/D:::e", Inlined, "/tmp/perf-1.map"), ("a/B:::c", Native, "/tmp/perf-1.map")],
        ),
        ("\t  ff std::unique_ptr<A>::operator->() const (/x)", &[("std::unique_ptr<A>::operator->", Native, "/x")]),
        ("\t  ff A::operator()(int) (/x)", &[("A::operator()", Native, "/x")]),
        ("\t  ff operator<< <A>(A, int) (/x)", &[("operator<< <A>", Native, "/x")]),
        ("\t  ff <(A, B) as T>::f (/x)", &[("<(A, B) as T>::f", Native, "/x")]),
        ("\t  ff (anonymous namespace)::f(int) (/x)", &[("(anonymous namespace)::f", Native, "/x")]),
        ("\t  ff f(int)::{lambda(A)#1}::operator() (/x)", &[("f(int)::{lambda(A)#1}::operator()", Native, "/x")]),
        ("\t  ff net/http.(*Client).Do (/x)", &[("net/http.(*Client).Do", Native, "/x")]),
        ("\t  ff f((/x)", &[("f", Native, "")]),
    ];
    for (line, expected) in cases {
        let frames = frame::parse(line, "java").unwrap_or_default();
        let seen: Vec<_> = frames.iter().map(|f| (f.name.as_str(), f.origin, f.module.as_str())).collect();
        assert_eq!(seen, *expected, "{line}");
    }
}

#[test]
fn lines_with_a_place_belong_to_the_frame_above() {
    let cases = [
        ("  access.c:300", true, "access.c", 300, Origin::Native),
        ("  access.h:12 (inlined)", true, "access.h", 12, Origin::Inlined),
        ("  libc.so.6[27b25]", true, "", 0, Origin::Native),
        ("access.c:300", false, "", 0, Origin::Native),
        ("  THIS_IS_ODD", false, "", 0, Origin::Native),
    ];
    for (line, is_place, file, number, origin) in cases {
        let mut above = Frame::named("f", Origin::Native);
        assert_eq!(frame::place(line, Some(&mut above)), is_place, "{line}");
        assert_eq!((above.file.as_str(), above.line, above.origin), (file, number, origin), "{line}");
    }
}
