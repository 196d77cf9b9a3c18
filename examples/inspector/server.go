// An inspector in Go, with nothing but the standard library: refuses paths that begin with /private, tags others.
//
// docs/inspectors.md describes the protocol. A frame is its length (u32, of what follows), kind (u8), id (u32),
// and items: tag (u8), length (u32), bytes. Numbers are big-endian; unknown kinds and tags are passed over.
//
//	go run server.go [HOST:PORT] [TOKEN]
package main

import (
	"bufio"
	"bytes"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
)

const (
	version       = "weir-inspect/1"
	maxFrameBytes = 2 << 20

	kindHello, kindQuestion, kindAnswer, kindPing, kindPong = 0, 1, 2, 3, 4

	helloVersion, helloToken, helloDetector               = 1, 2, 3
	askTarget                                             = 8
	sayAdvice, sayStatus, sayBody, sayTag, sayReason byte = 1, 2, 4, 7, 9
	pass, refuse                                     byte = 0, 1
)

var errMalformed = errors.New("not Weir's protocol")

type item struct {
	tag   byte
	value []byte
}

func frame(kind byte, id uint32, items ...item) []byte {
	out := binary.BigEndian.AppendUint32(append(make([]byte, 4, 64), kind), id)
	for _, item := range items {
		out = binary.BigEndian.AppendUint32(append(out, item.tag), uint32(len(item.value)))
		out = append(out, item.value...)
	}
	binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	return out
}

func read(reader io.Reader) (kind byte, id uint32, items map[byte][]byte, err error) {
	var head [9]byte
	if _, err = io.ReadFull(reader, head[:]); err != nil {
		return
	}
	length := binary.BigEndian.Uint32(head[:4])
	if length < 5 || length > maxFrameBytes {
		return 0, 0, nil, errMalformed
	}
	body := make([]byte, length-5)
	if _, err = io.ReadFull(reader, body); err != nil {
		return
	}
	items = map[byte][]byte{} // of items that come several times, the last one
	for len(body) > 0 {
		if len(body) < 5 || uint64(binary.BigEndian.Uint32(body[1:5])) > uint64(len(body)-5) {
			return 0, 0, nil, errMalformed
		}
		end := 5 + binary.BigEndian.Uint32(body[1:5])
		items[body[0]] = body[5:end]
		body = body[end:]
	}
	return head[4], binary.BigEndian.Uint32(head[5:]), items, nil
}

func decide(question map[byte][]byte) []item {
	if bytes.HasPrefix(question[askTarget], []byte("/private")) {
		status := binary.BigEndian.AppendUint16(nil, 403)
		return []item{{sayAdvice, []byte{refuse}}, {sayStatus, status}, {sayBody, []byte("private\n")}, {sayReason, []byte("a private path")}}
	}
	return []item{{sayAdvice, []byte{pass}}, {sayTag, []byte("public")}}
}

func serve(connection net.Conn, token []byte) error {
	defer connection.Close()
	reader, writer := bufio.NewReader(connection), bufio.NewWriter(connection)
	kind, _, hello, err := read(reader)
	if err != nil {
		return err
	}
	if kind != kindHello || string(hello[helloVersion]) != version || subtle.ConstantTimeCompare(hello[helloToken], token) != 1 {
		return errMalformed
	}
	writer.Write(frame(kindHello, 0, item{helloVersion, []byte(version)}, item{helloDetector, []byte("paths")}))
	for {
		// Answers that are ready together are written together.
		if reader.Buffered() == 0 {
			if err := writer.Flush(); err != nil {
				return err
			}
		}
		kind, id, question, err := read(reader)
		if err != nil {
			return err
		}
		switch kind {
		case kindQuestion:
			writer.Write(frame(kindAnswer, id, decide(question)...))
		case kindPing:
			writer.Write(frame(kindPong, id))
		}
	}
}

func main() {
	address, token := "127.0.0.1:7331", []byte(nil)
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	if len(os.Args) > 2 {
		token = []byte(os.Args[2])
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on", listener.Addr())
	for {
		connection, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go func() {
			if err := serve(connection, token); errors.Is(err, errMalformed) {
				log.Print("closed: ", err)
			}
		}()
	}
}
