//! A service that speaks Weir's own protocol to inspectors, with a thread for each connection.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use weir_inspect::Answer;
use weir_inspect::frame::{self, Frame, Writer, hello, kind};
use weir_inspect::own::{ReceivedQuestion, read_question, write_answer};

/// What the service does with a question.
pub enum Reply {
    /// It answers.
    Say(Answer),
    /// It answers later.
    After(Duration, Answer),
    /// It never answers.
    Nothing,
    /// It sends these bytes.
    Bytes(Vec<u8>),
    /// It closes the connection.
    Close,
}

/// A running service.
#[derive(Clone)]
pub struct Inspector {
    /// Where it listens.
    pub address: SocketAddr,
    questions: Arc<Mutex<Vec<ReceivedQuestion>>>,
    connections: Arc<AtomicUsize>,
    open: Arc<AtomicUsize>,
}

impl Inspector {
    /// Starts a service that answers by this function.
    ///
    /// # Panics
    /// If no port can be bound.
    #[must_use]
    pub fn start(reply: impl Fn(&ReceivedQuestion) -> Reply + Send + Sync + 'static) -> Self {
        let (questions, connections) = (Arc::<Mutex<Vec<_>>>::default(), Arc::<AtomicUsize>::default());
        let (reply, seen, opened) = (Arc::new(reply), Arc::clone(&questions), Arc::clone(&connections));
        let open = Arc::<AtomicUsize>::default();
        let now_open = Arc::clone(&open);
        let address = super::serve(move |stream| {
            opened.fetch_add(1, Ordering::SeqCst);
            now_open.fetch_add(1, Ordering::SeqCst);
            let result = serve(stream, &*reply, &seen);
            now_open.fetch_sub(1, Ordering::SeqCst);
            result
        });
        Self { address, questions, connections, open }
    }

    /// The questions so far.
    ///
    /// # Panics
    /// If a thread of the service panicked.
    #[must_use]
    pub fn questions(&self) -> Vec<ReceivedQuestion> {
        self.questions.lock().expect("no thread panics").clone()
    }

    /// How many connections are open.
    #[must_use]
    pub fn open(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }

    /// How many connections were opened.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

fn serve(
    mut stream: TcpStream,
    reply: &(impl Fn(&ReceivedQuestion) -> Reply + Sync),
    seen: &Mutex<Vec<ReceivedQuestion>>,
) -> std::io::Result<()> {
    let mut greeting = Vec::new();
    let mut frame = Writer::begin(&mut greeting, kind::HELLO, 0);
    frame.item(hello::VERSION, &[frame::VERSION]);
    frame.end().expect("short");
    stream.write_all(&greeting)?;
    let mut input = Vec::new();
    let mut buffer = [0; 65536];
    loop {
        let read = stream.read(&mut buffer)?;
        if read == 0 {
            return Ok(());
        }
        input.extend_from_slice(&buffer[..read]);
        let mut at = 0;
        while let Some((frame, length)) = Frame::first(&input[at..]).expect("the gateway sends frames") {
            at += length;
            if frame.kind != kind::QUESTION {
                continue;
            }
            let question = read_question(frame).expect("the gateway sends questions");
            let told = reply(&question);
            seen.lock().expect("no thread panics").push(question);
            match told {
                Reply::Say(answer) => stream.write_all(&bytes(frame.id, &answer))?,
                Reply::After(pause, answer) => {
                    let (mut stream, bytes) = (stream.try_clone()?, bytes(frame.id, &answer));
                    thread::spawn(move || {
                        thread::sleep(pause);
                        let _ = stream.write_all(&bytes);
                    });
                }
                Reply::Nothing => {}
                Reply::Bytes(bytes) => stream.write_all(&bytes)?,
                Reply::Close => return Ok(()),
            }
        }
        input.drain(..at);
    }
}

fn bytes(id: u32, answer: &Answer) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_answer(&mut bytes, id, answer).expect("short");
    bytes
}
