use super::*;

const OWN: u32 = 77;

/// Runs the filter as the kernel would.
fn run(call: c_long, arguments: [u32; 3]) -> u32 {
    run_for(THIS_ARCHITECTURE, call, arguments)
}

fn run_for(architecture: u32, call: c_long, arguments: [u32; 3]) -> u32 {
    let program = program(OWN);
    let (mut at, mut accumulator) = (0, 0);
    loop {
        let step = program[at];
        at += 1;
        match u32::from(step.code) {
            code if code == BPF_LD | BPF_W | BPF_ABS => {
                accumulator = match step.k {
                    NUMBER => call as u32,
                    ARCHITECTURE => architecture,
                    offset => arguments[((offset - ARGUMENTS) / 8) as usize],
                }
            }
            code if code == BPF_JMP | BPF_JEQ | BPF_K => {
                at += usize::from(if accumulator == step.k { step.jt } else { step.jf });
            }
            code if code == BPF_JMP | BPF_JSET | BPF_K => {
                at += usize::from(if accumulator & step.k != 0 { step.jt } else { step.jf });
            }
            code if code == BPF_RET | BPF_K => return step.k,
            code => panic!("unknown instruction {code}"),
        }
    }
}

const YES: u32 = libc::SECCOMP_RET_ALLOW;
const NO: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;

#[test]
fn calls_are_allowed_or_refused() {
    let open = |flags: i32| (libc::SYS_openat, [0, 0, flags as u32]);
    for ((call, arguments), expected) in [
        ((libc::SYS_read, [0; 3]), YES),
        ((libc::SYS_mmap, [0; 3]), YES),
        ((libc::SYS_exit_group, [0; 3]), YES),
        (open(libc::O_RDONLY | libc::O_CLOEXEC), YES),
        (open(libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NONBLOCK), YES),
        (open(libc::O_WRONLY), NO),
        (open(libc::O_RDWR), NO),
        (open(libc::O_CREAT), NO),
        (open(libc::O_TRUNC), NO),
        (open(libc::O_TMPFILE), NO),
        ((libc::SYS_tgkill, [OWN, 0, 6]), YES),
        ((libc::SYS_tgkill, [OWN + 1, 0, 9]), NO),
        ((libc::SYS_kill, [OWN, 9, 0]), NO),
        ((libc::SYS_socket, [0; 3]), NO),
        ((libc::SYS_connect, [0; 3]), NO),
        ((libc::SYS_execve, [0; 3]), NO),
        ((libc::SYS_clone, [0; 3]), NO),
        ((libc::SYS_clone3, [0; 3]), NO),
        ((libc::SYS_ptrace, [0; 3]), NO),
        ((libc::SYS_mount, [0; 3]), NO),
        ((libc::SYS_unlinkat, [0; 3]), NO),
        ((libc::SYS_openat2, [0; 3]), NO),
        ((libc::SYS_prctl, [0; 3]), NO),
        ((libc::SYS_io_uring_setup, [0; 3]), NO),
    ] {
        assert_eq!(run(call, arguments), expected, "call {call} with {arguments:?}");
    }
}

#[test]
fn calls_of_another_architecture_kill() {
    assert_eq!(run_for(THIS_ARCHITECTURE ^ 1, libc::SYS_read, [0; 3]), libc::SECCOMP_RET_KILL_PROCESS);
}
