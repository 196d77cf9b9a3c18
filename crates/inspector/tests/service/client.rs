//! A service on a free port, and a client that writes and reads frames.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use weir_inspect::frame::{Frame, VERSION, Writer, hello, kind};
use weir_inspect::own::{read_answer, write_question};
use weir_inspect::{Answer, Question};
use weir_inspector::config::Address;
use weir_inspector::{Config, Service};

/// How long anything may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A running service.
pub struct Running {
    runtime: Option<tokio::runtime::Runtime>,
    service: Option<Service>,
    pub address: SocketAddr,
    pub metrics: Option<SocketAddr>,
}

/// Starts a service with these detectors and more keys, on a free port.
pub fn start(text: &str, folder: &Path) -> Running {
    let text = format!("listen: [\"127.0.0.1:1\"]\nmetrics: 127.0.0.1:1\n{text}");
    let mut config = Config::parse(&text, &folder.join("inspector.yaml")).unwrap_or_else(|errors| panic!("{errors}"));
    config.listen = vec![Address::Tcp("127.0.0.1:0".into())];
    config.metrics = Some("127.0.0.1:0".parse().unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let service = runtime.block_on(Service::start(config)).unwrap_or_else(|error| panic!("{error}"));
    let addresses = service.addresses();
    let (address, metrics) = (addresses[0], addresses.get(1).copied());
    Running { runtime: Some(runtime), service: Some(service), address, metrics }
}

impl Running {
    /// A client that has said hello.
    pub fn client(&self) -> Client {
        let mut client = self.silent_client();
        client.hello(VERSION, b"");
        let (frame, _) = client.frame().expect("a hello");
        assert_eq!(frame, kind::HELLO);
        client
    }

    /// A client that has said nothing.
    pub fn silent_client(&self) -> Client {
        Client::connect(self.address)
    }

    /// Stops the service in a thread of its own, as SIGTERM does.
    pub fn stop(&mut self) -> std::thread::JoinHandle<()> {
        let (runtime, service) = (self.runtime.take().unwrap(), self.service.take().unwrap());
        std::thread::spawn(move || runtime.block_on(service.stop()))
    }

    /// The text of the metrics.
    pub fn metrics(&self) -> String {
        let mut stream = TcpStream::connect(self.metrics.unwrap()).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }
}

/// A client.
pub struct Client {
    pub stream: TcpStream,
    buffer: Vec<u8>,
    /// Bytes of the buffer that have been read.
    taken: usize,
}

impl Client {
    /// A client that has said nothing.
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, buffer: Vec::new(), taken: 0 }
    }

    /// Says hello.
    pub fn hello(&mut self, version: &[u8], token: &[u8]) {
        let mut bytes = Vec::new();
        let mut frame = Writer::begin(&mut bytes, kind::HELLO, 0);
        frame.item(hello::VERSION, &[version]).some(hello::TOKEN, token);
        frame.end().unwrap();
        self.stream.write_all(&bytes).unwrap();
    }

    /// Kind and bytes of the next frame; nothing at the end.
    pub fn frame(&mut self) -> Option<(u8, Vec<u8>)> {
        loop {
            if let Some((frame, length)) = Frame::first(&self.buffer[self.taken..]).unwrap() {
                let bytes = self.buffer[self.taken..self.taken + length].to_vec();
                self.taken += length;
                return Some((frame.kind, bytes));
            }
            self.buffer.drain(..self.taken);
            self.taken = 0;
            let mut more = [0; 64 << 10];
            match self.stream.read(&mut more) {
                Ok(0) => return None,
                Ok(length) => self.buffer.extend_from_slice(&more[..length]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// The next answer, with its id.
    pub fn answer(&mut self) -> (u32, Answer) {
        let (kind, bytes) = self.frame().expect("an answer");
        assert_eq!(kind, kind::ANSWER);
        let (frame, _) = Frame::first(&bytes).unwrap().unwrap();
        (frame.id, read_answer(frame).unwrap())
    }

    /// Asks one question.
    pub fn ask(&mut self, question: &Question<'_>) -> Answer {
        let mut bytes = Vec::new();
        write_question(&mut bytes, 7, question).unwrap();
        self.stream.write_all(&bytes).unwrap();
        let (id, answer) = self.answer();
        assert_eq!(id, 7);
        answer
    }
}

/// A question about a `GET` of that target.
pub fn get<'q>(detector: &'q str, target: &'q str) -> Question<'q> {
    Question {
        detector,
        tenant: "",
        request_id: b"r1",
        client: [192, 0, 2, 7].into(),
        method: b"GET",
        scheme: b"http",
        host: b"shop.example",
        authority: b"shop.example",
        target: target.as_bytes(),
        path: b"",
        protocol: b"HTTP/1.1",
        headers: vec![(b"Host", b"shop.example"), (b"User-Agent", b"test"), (b"Accept", b"*/*")],
        body: b"",
        body_bytes: 0,
        findings: Vec::new(),
        score: 0,
        tags: &[],
        tls: Vec::new(),
        consumer: "",
        deadline_ms: 10_000,
    }
}

/// A question about a form that is posted.
pub fn post<'q>(detector: &'q str, target: &'q str, form: &'q str) -> Question<'q> {
    let mut question = get(detector, target);
    question.method = b"POST";
    question.headers.push((b"Content-Type", b"application/x-www-form-urlencoded"));
    question.body = form.as_bytes();
    question.body_bytes = form.len() as u64;
    question
}
