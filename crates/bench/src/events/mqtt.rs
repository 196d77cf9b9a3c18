//! As much of MQTT 3.1.1 as a comparison needs: connect, subscribe, publish at QoS 0. A client of
//! our own because what is measured is the broker, not somebody's client library.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use weir_measure::error::MeasureError;

/// Bytes of every message.
pub const PAYLOAD: usize = 64;
/// Bytes of a topic's name.
const TOPIC: usize = 1;
/// Bytes of a PUBLISH packet: type, length, length of the topic, the topic, the payload.
pub const PACKET: usize = 2 + 2 + TOPIC + PAYLOAD;
/// How long the broker may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// CONNACK (section 3.2): accepted, no session.
const CONNECTED: [u8; 4] = [0x20, 2, 0, 0];
/// SUBACK (section 3.9) of packet identifier 1 at QoS 0.
const SUBSCRIBED: [u8; 5] = [0x90, 3, 0, 1, 0];

/// Connects under a name of one letter, and subscribes to the topic of that name.
pub fn connect(socket: &Path, name: u8) -> Result<UnixStream, MeasureError> {
    let attempt = || {
        let mut stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        // Section 3.1: protocol MQTT, level 4, clean session, no keep-alive, the client's name.
        stream.write_all(&[0x10, 13, 0, 4, b'M', b'Q', b'T', b'T', 4, 2, 0, 0, 0, 1, name])?;
        expect(&mut stream, &CONNECTED)?;
        // Section 3.8: packet identifier 1, one topic, QoS 0.
        stream.write_all(&[0x82, 6, 0, 1, 0, 1, name, 0])?;
        expect(&mut stream, &SUBSCRIBED)?;
        Ok(stream)
    };
    attempt().map_err(MeasureError::file(socket))
}

fn expect(stream: &mut UnixStream, expected: &[u8]) -> std::io::Result<()> {
    let mut answer = vec![0; expected.len()];
    stream.read_exact(&mut answer)?;
    match answer == expected {
        true => Ok(()),
        false => Err(std::io::Error::other(format!("the broker answered {answer:?}"))),
    }
}

/// A PUBLISH packet (section 3.3) to the topic of one letter; its payload begins with `number`.
#[must_use]
pub fn publish(topic: u8, number: u64) -> [u8; PACKET] {
    let mut packet = [0; PACKET];
    packet[..5].copy_from_slice(&[0x30, (PACKET - 2) as u8, 0, TOPIC as u8, topic]);
    packet[5..13].copy_from_slice(&number.to_be_bytes());
    packet
}

/// The number in a packet made by [`publish`].
#[must_use]
pub fn number(packet: &[u8]) -> Option<u64> {
    (packet.len() == PACKET && packet[0] & 0xf0 == 0x30).then(|| {
        let bytes: [u8; 8] = packet[5..13].try_into().expect("eight bytes were cut out");
        u64::from_be_bytes(bytes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_gives_its_number_back() {
        for value in [0, 1, u64::MAX] {
            assert_eq!(number(&publish(b'a', value)), Some(value));
        }
        assert_eq!(number(&[0x30; 10]), None);
        assert_eq!(number(&[0; PACKET]), None);
    }
}
