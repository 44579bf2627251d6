// Package s3 keeps the objects of a remote in a bucket of S3, or of a server that speaks its
// protocol, and makes leases of conditional writes.
//
// Its client can start a program, where AWS's configuration names one that has the credentials
// (credential_process). Therefore the command alone links this package.
package s3

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Options are what a URL does not hold.
type Options struct {
	// AccessKey, SecretKey and SessionToken are the credentials. Without an AccessKey they are
	// those of the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN),
	// of AWS's shared files (AWS_PROFILE), or of the role of the pod, the task or the machine.
	AccessKey, SecretKey, SessionToken string
}

// Open returns the objects of
//
//	s3://BUCKET[/PREFIX][?endpoint=URL][&region=NAME][&path-style=0|1][&ca=FILE][&anonymous=1]
//
// PREFIX is put before the name of each object. Without an endpoint it is that of
// AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL, or Amazon's. Without a region it is that of
// AWS_REGION or AWS_DEFAULT_REGION, or us-east-1. path-style says whether the bucket stands
// in the path or in the host's name: without it, in the name at Amazon's, else in the path. ca is
// a file of certificates (PEM) to trust besides the system's, as AWS_CA_BUNDLE. anonymous=1
// sends no credentials. No connection is made, and no credentials are looked for, before the
// first call. What is wrong with the URL is an error, which holds none of its parts that may
// be secret.
func Open(address string, o Options) (*Objects, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the URL of an S3 bucket: it cannot be parsed") // err quotes all of it
	}
	c, err := parse(u)
	if err != nil {
		return nil, fmt.Errorf("the URL of an S3 bucket: %w", err)
	}
	base, err := c.transport()
	if err != nil {
		return nil, err
	}
	keys := roles(c.region)
	switch {
	case c.anonymous:
		keys = credentials.NewStatic("", "", "", credentials.SignatureAnonymous)
	case o.AccessKey != "":
		keys = credentials.NewStaticV4(o.AccessKey, o.SecretKey, o.SessionToken)
	}
	client, err := minio.NewCore(c.endpoint.Host, &minio.Options{
		Creds:        keys,
		Secure:       c.endpoint.Scheme == "https",
		Transport:    transport{base},
		Region:       c.region,
		BucketLookup: c.lookup,
		MaxRetries:   1, // how often it tries, in truth
	})
	if err != nil {
		return nil, fmt.Errorf("the URL of an S3 bucket: endpoint: %w", err)
	}
	return &Objects{
		client:  client,
		keys:    keys,
		base:    base,
		bucket:  u.Host,
		prefix:  c.prefix,
		calls:   make(chan struct{}, maxCalls),
		timeout: callTimeout,
	}, nil
}

// config is what a URL says.
type config struct {
	prefix    string // ends with a slash, or is empty
	endpoint  *url.URL
	region    string
	lookup    minio.BucketLookupType
	ca        string
	anonymous bool
}

func parse(u *url.URL) (config, error) {
	c := config{region: firstOf("AWS_REGION", "AWS_DEFAULT_REGION"), ca: os.Getenv("AWS_CA_BUNDLE")}
	switch {
	case u.Scheme != "s3":
		return c, fmt.Errorf("it begins with %q, not s3", u.Scheme)
	case u.User != nil:
		return c, errors.New("credentials do not belong there: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a shared file, have them")
	case u.Host == "" || u.Port() != "":
		return c, errors.New("it names no bucket: s3://BUCKET/PREFIX?endpoint=https://HOST:PORT")
	case u.Fragment != "":
		return c, errors.New("it has a fragment (#)")
	}
	if c.region == "" {
		c.region = "us-east-1"
	}
	if c.prefix = strings.Trim(u.Path, "/"); c.prefix != "" {
		c.prefix += "/"
	}
	endpoint := firstOf("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return c, errors.New("what follows the question mark cannot be parsed")
	}
	for name, values := range query {
		if len(values) > 1 {
			return c, fmt.Errorf("%s is there twice", parameter(name))
		}
		value := values[0]
		switch name {
		case "endpoint":
			endpoint = value
		case "region":
			c.region = value
		case "ca":
			c.ca = value
		case "path-style":
			style, err := flag(value)
			if err != nil {
				return c, fmt.Errorf("path-style: %w", err)
			}
			if c.lookup = minio.BucketLookupDNS; style {
				c.lookup = minio.BucketLookupPath
			}
		case "anonymous":
			if c.anonymous, err = flag(value); err != nil {
				return c, fmt.Errorf("anonymous: %w", err)
			}
		default:
			return c, fmt.Errorf("it has no parameter %s", parameter(name))
		}
	}
	if endpoint == "" {
		endpoint = "https://s3.amazonaws.com"
	}
	c.endpoint, err = url.Parse(endpoint)
	if err != nil || c.endpoint.Host == "" || c.endpoint.User != nil ||
		c.endpoint.Scheme != "http" && c.endpoint.Scheme != "https" ||
		strings.Trim(c.endpoint.Path, "/") != "" || c.endpoint.RawQuery != "" {
		return c, errors.New("endpoint: want http://HOST:PORT or https://HOST:PORT")
	}
	if query.Has("ca") && c.endpoint.Scheme == "http" { // who says so believes that it is checked
		return c, errors.New("ca: the endpoint is http://, which has no certificate")
	}
	return c, nil
}

// flag reads what is 0 or 1.
func flag(s string) (bool, error) {
	switch s {
	case "1", "true":
		return true, nil
	case "0", "false":
		return false, nil
	}
	return false, errors.New("want 0 or 1") // what it is may be a password
}

// parameter returns what an error says of a parameter: of what is no name, which may be a password, nothing.
func parameter(name string) string {
	noName := func(r rune) bool { return (r < 'a' || 'z' < r) && (r < 'A' || 'Z' < r) && r != '-' && r != '_' }
	if strings.ContainsFunc(name, noName) {
		return "of such a name"
	}
	return strconv.Quote(name)
}

// firstOf returns the first of some variables that is set.
func firstOf(names ...string) string {
	for _, name := range names {
		if v := os.Getenv(name); v != "" {
			return v
		}
	}
	return ""
}

// transport returns one whose waits all end with the context of a request. What goes on without
// a request, such as a connection that nobody waits for any more, ends by itself.
func (c *config) transport() (*http.Transport, error) {
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		// net/http's own error of a proxy that does not connect is what the proxy has written.
		OnProxyConnectResponse: func(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
			if resp.StatusCode == http.StatusOK {
				return nil
			}
			return fmt.Errorf("the proxy answers %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
		},
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12},
		MaxIdleConnsPerHost: maxCalls,
		IdleConnTimeout:     15 * time.Second, // servers do so, too
		DisableCompression:  true,
		// A hostile server may send no more than this before an object.
		MaxResponseHeaderBytes: 64 << 10,
	}
	if c.ca == "" {
		return t, nil
	}
	pem, err := os.ReadFile(c.ca)
	if err != nil {
		return nil, fmt.Errorf("certificates of an S3 server: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("certificates of an S3 server: %s holds none (PEM)", c.ca)
	}
	t.TLSClientConfig.RootCAs = pool
	return t, nil
}
