// An OpenID Connect provider for the login of oauth2-proxy: mockoidc, which asks nobody for a password.
//
//	provider ADDRESS CLIENT SECRET
package main

import (
	"log"
	"net"
	"os"

	"github.com/oauth2-proxy/mockoidc"
)

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: provider ADDRESS CLIENT SECRET")
	}
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	provider, err := mockoidc.NewServer(nil)
	if err != nil {
		log.Fatal(err)
	}
	provider.ClientID, provider.ClientSecret = os.Args[2], os.Args[3]
	if err := provider.Start(listener, nil); err != nil {
		log.Fatal(err)
	}
	select {}
}
