// An inspector in Go, with nothing but the standard library: refuses paths that begin with /private, tags others.
//
// docs/inspectors.md describes the protocol. A frame is its length (u32, of what follows), kind (u8), id (u32),
// and items: tag (u8), length (u32), bytes. Numbers are big-endian; unknown kinds and tags are passed over.
//
//	go run server.go [HOST:PORT] [TOKEN]
package main

import (
	"bufio"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"strings"
)

const (
	version       = "weir-inspect/1"
	maxFrameBytes = 2 << 20

	hello, question, answer, ping, pong     = 0, 1, 2, 3, 4
	helloVersion, helloToken, helloDetector = 1, 2, 3
	// Decoded and normalised; the target as sent (8) may spell the same path as //%70rivate.
	askPath                                          = 19
	sayAdvice, sayStatus, sayBody, sayTag, sayReason = 1, 2, 4, 7, 9
	pass, refuse, unable                             = "\x00", "\x01", "\x03"
)

var errMalformed = errors.New("not Weir's protocol")

type item struct {
	tag   byte
	value string
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

// read returns kind, id and items of the next frame; of items that come several times, the last one.
func read(reader io.Reader) (kind byte, id uint32, items map[byte]string, err error) {
	var head [9]byte
	if _, err = io.ReadFull(reader, head[:]); err != nil {
		return
	}
	length := binary.BigEndian.Uint32(head[:])
	if length < 5 || length > maxFrameBytes {
		return 0, 0, nil, errMalformed
	}
	rest := make([]byte, length-5)
	if _, err = io.ReadFull(reader, rest); err != nil {
		return
	}
	for items = map[byte]string{}; len(rest) > 0; {
		if len(rest) < 5 || uint64(binary.BigEndian.Uint32(rest[1:])) > uint64(len(rest)-5) {
			return 0, 0, nil, errMalformed
		}
		end := 5 + binary.BigEndian.Uint32(rest[1:])
		items[rest[0]], rest = string(rest[5:end]), rest[end:]
	}
	return head[4], binary.BigEndian.Uint32(head[5:]), items, nil
}

func decide(asked map[byte]string) []item {
	path, isKnown := asked[askPath]
	switch {
	case !isKnown: // a gateway of before: its fail mode decides
		return []item{{sayAdvice, unable}}
	case strings.HasPrefix(path, "/private"): // with 403
		return []item{{sayAdvice, refuse}, {sayStatus, "\x01\x93"}, {sayBody, "private\n"}, {sayReason, "a private path"}}
	}
	return []item{{sayAdvice, pass}, {sayTag, "public"}}
}

func serve(connection net.Conn, token string) {
	defer connection.Close()
	reader := bufio.NewReader(connection)
	kind, id, items, err := read(reader)
	if err == nil && (kind != hello || items[helloVersion] != version || subtle.ConstantTimeCompare([]byte(items[helloToken]), []byte(token)) != 1) {
		err = errMalformed
	}
	for reply := frame(hello, 0, item{helloVersion, version}, item{helloDetector, "paths"}); err == nil; {
		if _, err = connection.Write(reply); err != nil {
			break
		}
		reply = nil
		if kind, id, items, err = read(reader); kind == question {
			reply = frame(answer, id, decide(items)...)
		} else if kind == ping {
			reply = frame(pong, id)
		}
	}
	if errors.Is(err, errMalformed) {
		log.Print("closed: ", err)
	}
}

func main() {
	address, token := "127.0.0.1:7331", ""
	for place, argument := range os.Args[1:min(len(os.Args), 3)] {
		*[]*string{&address, &token}[place] = argument
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
		go serve(connection, token)
	}
}
