// Package tlsfiles makes a client's TLS configuration from the files that a URL names.
package tlsfiles

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// Names are those of PEM files, each of which may be "".
type Names struct {
	CA        string // the authorities to trust instead of the system's
	Cert, Key string // the client's certificate, with its chain, and key
}

// Config reads the files.
func (n Names) Config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if n.CA != "" {
		pem, err := os.ReadFile(n.CA)
		if err != nil {
			return nil, fmt.Errorf("ca-file: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("ca-file: %s has no certificate in PEM", n.CA)
		}
	}
	if (n.Cert == "") != (n.Key == "") {
		return nil, errors.New("cert-file and key-file go together")
	}
	if n.Cert != "" {
		pair, err := tls.LoadX509KeyPair(n.Cert, n.Key)
		if err != nil {
			return nil, fmt.Errorf("cert-file %s, key-file %s: %w", n.Cert, n.Key, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
