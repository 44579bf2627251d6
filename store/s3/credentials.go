package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

const (
	// roleTimeout bounds how long credentials are looked for: nobody may be there to answer.
	roleTimeout = 5 * time.Second
	// roleRetry is how long it is remembered that none were found.
	roleRetry = 5 * time.Second
)

// ErrNoCredentials is what all calls return while no credentials are found.
var ErrNoCredentials = errors.New("no credentials: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set, the shared files have none")

// roles returns the credentials that AWS's programs would find: of the environment, of the
// shared files, of the role of the pod, the task or the machine.
func roles(region string) *credentials.Credentials {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = notLinkLocal(http.ProxyFromEnvironment)
	p := &provider{client: &http.Client{Transport: transport}, chain: []credentials.Provider{
		&credentials.EnvAWS{},
		&credentials.FileAWSCredentials{},
	}}
	if os.Getenv("AWS_EC2_METADATA_DISABLED") != "true" || firstOf("AWS_WEB_IDENTITY_TOKEN_FILE",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI") != "" {
		p.role = &credentials.IAM{Region: region}
		p.chain = append(p.chain, p.role)
	}
	return credentials.New(p)
}

// provider asks others in turn. The client's own chain goes on without credentials if none has
// any, and then the server says that access is denied. Its caller holds a lock.
type provider struct {
	client *http.Client
	chain  []credentials.Provider
	role   *credentials.IAM
	used   credentials.Provider
	err    error
	since  time.Time // when err was found
}

// notLinkLocal returns what chooses proxies as next does, but none for addresses such as 169.254.169.254: a proxy
// would answer with the credentials of its own machine.
func notLinkLocal(next func(*http.Request) (*url.URL, error)) func(*http.Request) (*url.URL, error) {
	return func(req *http.Request) (*url.URL, error) {
		if ip, err := netip.ParseAddr(req.URL.Hostname()); err == nil && ip.IsLinkLocalUnicast() || req.URL.Hostname() == "fd00:ec2::254" {
			return nil, nil
		}
		return next(req)
	}
}

func (p *provider) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	if p.err != nil && time.Since(p.since) < roleRetry {
		return credentials.Value{}, p.err
	}
	parent := context.Background()
	if cc != nil && cc.Context != nil {
		parent = cc.Context
	}
	ctx, cancel := context.WithTimeout(parent, roleTimeout)
	defer cancel()
	p.used = nil
	err := ErrNoCredentials
	for _, c := range p.chain {
		value, why := c.RetrieveWithCredContext(&credentials.CredContext{Client: p.client, Context: ctx})
		if why == nil && value.AccessKeyID != "" && value.SecretAccessKey != "" {
			p.used, p.err = c, nil
			return value, nil
		}
		// What else the errors say may hold a line of a file, or a token.
		if e := (*url.Error)(nil); p.role != nil && c == p.role && errors.As(why, &e) {
			err = fmt.Errorf("%w, and of a role: %w", ErrNoCredentials, e.Err)
		}
	}
	p.err, p.since = err, time.Now()
	return credentials.Value{}, err
}

// Retrieve is for a client of before.
func (p *provider) Retrieve() (credentials.Value, error) { return p.RetrieveWithCredContext(nil) }

func (p *provider) IsExpired() bool { return p.used == nil || p.used.IsExpired() }
