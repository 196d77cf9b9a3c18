// A reverse proxy with Coraza and its own Core Rule Set module, for `make bench SCENARIO=crs`.
//
// The shortest fair setup: Go's reverse proxy with keep-alive connections on both sides, Coraza's
// own HTTP middleware, its recommended configuration with the engine switched on, no audit log, paranoia 1.
//
//	coraza LISTEN ORIGIN
package main

import (
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"

	coreruleset "github.com/corazawaf/coraza-coreruleset/v4"
	"github.com/corazawaf/coraza/v3"
	txhttp "github.com/corazawaf/coraza/v3/http"
)

// Idle connections to the origin, as many as nginx keeps in this benchmark.
const originConnections = 64

// Directives: the recommended configuration of Coraza, blocking, with the default settings of the Core Rule Set.
const directives = `
Include @coraza.conf-recommended
SecRuleEngine On
SecAuditEngine Off
Include @crs-setup.conf.example
Include @owasp_crs/*.conf
`

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: coraza LISTEN ORIGIN")
	}
	waf, err := coraza.NewWAF(coraza.NewWAFConfig().
		WithDirectives(directives).
		WithRootFS(coreruleset.FS))
	if err != nil {
		log.Fatal("the rules cannot be loaded: ", err)
	}
	origin, err := url.Parse("http://" + os.Args[2])
	if err != nil {
		log.Fatal("the origin is no address: ", err)
	}
	proxy := httputil.NewSingleHostReverseProxy(origin)
	proxy.Transport = &http.Transport{
		MaxIdleConns:        originConnections,
		MaxIdleConnsPerHost: originConnections,
		DisableCompression:  true,
	}
	log.Fatal(http.ListenAndServe(os.Args[1], txhttp.WrapHandler(waf, proxy)))
}
