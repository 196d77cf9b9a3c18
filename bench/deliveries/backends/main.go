// Answers with everything that an application of Go's net/http reads from a request, as a JSON array of texts.
package main

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
)

func leaves(value any, seen *[]string) {
	switch value := value.(type) {
	case map[string]any:
		for name, item := range value {
			*seen = append(*seen, name)
			leaves(item, seen)
		}
	case []any:
		for _, item := range value {
			leaves(item, seen)
		}
	default:
		*seen = append(*seen, fmt.Sprint(value))
	}
}

func fields(values url.Values, seen *[]string) {
	for name, all := range values {
		*seen = append(append(*seen, name), all...)
	}
}

// Text of each element, with that of its children, and all attributes.
func texts(body io.Reader, seen *[]string) {
	decoder := xml.NewDecoder(body)
	var open []strings.Builder
	for {
		token, err := decoder.Token()
		if err != nil {
			return
		}
		switch token := token.(type) {
		case xml.StartElement:
			open = append(open, strings.Builder{})
			for _, attribute := range token.Attr {
				*seen = append(*seen, attribute.Value)
			}
		case xml.CharData:
			for at := range open {
				open[at].Write(token)
			}
		case xml.EndElement:
			last := len(open) - 1
			*seen = append(*seen, open[last].String())
			open = open[:last]
		}
	}
}

func read(response http.ResponseWriter, request *http.Request) {
	seen := []string{request.URL.Path}
	// As gin does: the media type ends at a blank or a semicolon.
	kind, _, _ := strings.Cut(request.Header.Get("Content-Type"), ";")
	kind, _, _ = strings.Cut(kind, " ")
	kind = strings.ToLower(kind)
	switch {
	case strings.Contains(kind, "json"):
		for decoder := json.NewDecoder(request.Body); ; {
			var value any
			if decoder.Decode(&value) != nil {
				break
			}
			leaves(value, &seen)
		}
	case strings.Contains(kind, "xml"):
		texts(request.Body, &seen)
	default:
		_ = request.ParseMultipartForm(8 << 20)
	}
	fields(request.URL.Query(), &seen)
	fields(request.PostForm, &seen)
	if request.MultipartForm != nil {
		fields(request.MultipartForm.Value, &seen)
		for name, files := range request.MultipartForm.File {
			for _, file := range files {
				seen = append(seen, name, file.Filename)
				if open, err := file.Open(); err == nil {
					content, _ := io.ReadAll(open)
					seen = append(seen, string(content))
				}
			}
		}
	}
	for _, cookie := range request.Cookies() {
		seen = append(seen, cookie.Name, cookie.Value)
	}
	for name, values := range request.Header {
		if name != "Cookie" {
			seen = append(seen, values...)
		}
	}
	response.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(response).Encode(seen)
}

func main() {
	_ = http.ListenAndServe("127.0.0.1:"+os.Args[1], http.HandlerFunc(read))
}
