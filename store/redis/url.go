package redis

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/kernstash/kernstash/internal/tlsfiles"
)

// A target is what a URL says.
type target struct {
	scheme                         string
	addrs                          []string
	user, password                 string
	db                             int
	cluster                        bool
	master                         string // its name among the sentinels; "": there are none
	sentinelUser, sentinelPassword string
	tls                            *tls.Config // nil: no TLS
	maxSize                        int64       // 0: not said
	ttl                            time.Duration
}

// parse parses a URL. Its errors show no part in which a password may stand that has not
// been encoded as URLs ask for.
func parse(rawURL string) (*target, error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Fragment != "" || u.User == nil && strings.Contains(rawURL, "@") {
		return nil, errors.New("the URL cannot be parsed; in a user's name and password, characters such as / # ? @ : are written %2F %23 %3F %40 %3A")
	}
	t := &target{scheme: u.Scheme, user: u.User.Username(), password: os.Getenv("REDISCLI_AUTH")}
	if p, ok := u.User.Password(); ok {
		t.password = p
	}
	parameters, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errors.New("the parameters of the URL cannot be parsed")
	}
	// What other schemes have as the path.
	database := strings.Trim(u.Path, "/")
	switch u.Scheme {
	case "redis", "rediss":
		port := "6379"
		if parameters.Has("sentinel-master") {
			port = "26379"
		}
		if u.Hostname() == "" {
			return nil, errors.New("the URL has no host")
		}
		t.addrs = []string{withPort(u.Host, port)}
		for _, addr := range parameters["addr"] {
			t.addrs = append(t.addrs, withPort(addr, port))
		}
		t.cluster = len(t.addrs) > 1 && !parameters.Has("sentinel-master")
	case "unix":
		if u.Path == "" || u.Host != "" {
			return nil, errors.New("the URL of a socket is unix:///path")
		}
		t.addrs, database = []string{u.Path}, ""
	default:
		return nil, fmt.Errorf("the URL's scheme is %q, want redis, rediss or unix", u.Scheme)
	}
	if database != "" {
		if t.db, err = strconv.Atoi(database); err != nil || t.db < 0 {
			return nil, errors.New("the database, which is the URL's path, is not a number")
		}
	}
	var files tlsfiles.Names
	for name, values := range parameters {
		if err := t.set(&files, name, values[len(values)-1]); err != nil {
			if parameters.Has("sentinel-password") { // of which this may be a part
				return nil, errors.New("a parameter of the URL is unknown or invalid; in passwords, & and = are written %26 and %3D")
			}
			return nil, err
		}
	}
	if t.cluster && t.db != 0 {
		return nil, errors.New("a cluster has database 0 only")
	}
	if t.scheme != "rediss" {
		if files != (tlsfiles.Names{}) {
			return nil, errors.New("ca-file, cert-file and key-file need rediss://")
		}
		return t, nil
	}
	t.tls, err = files.Config()
	return t, err
}

// set sets what a parameter says.
func (t *target) set(files *tlsfiles.Names, name, value string) (err error) {
	switch name {
	case "addr":
		if t.scheme == "unix" {
			return errors.New("addr goes with redis:// and rediss:// only")
		}
	case "db":
		t.db, err = strconv.Atoi(value)
		if t.db < 0 {
			err = strconv.ErrRange
		}
	case "cluster":
		t.cluster, err = strconv.ParseBool(value)
		if err == nil && !t.cluster && len(t.addrs) > 1 {
			err = errors.New("there are several addresses")
		}
	case "sentinel-master":
		t.master = value
	case "sentinel-user":
		t.sentinelUser = value
	case "sentinel-password":
		t.sentinelPassword = value
	case "ca-file":
		files.CA = value
	case "cert-file":
		files.Cert = value
	case "key-file":
		files.Key = value
	case "max-size":
		t.maxSize, err = strconv.ParseInt(value, 10, 64)
		if t.maxSize <= 0 || t.maxSize > 512<<20 { // what a string of Redis holds
			err = strconv.ErrRange
		}
	case "ttl":
		t.ttl, err = time.ParseDuration(value)
		if err == nil && t.ttl < time.Millisecond {
			err = strconv.ErrRange
		}
	default:
		return fmt.Errorf("the URL has an unknown parameter %q", name)
	}
	if err != nil {
		return fmt.Errorf("the URL's parameter %s=%s is invalid", name, value)
	}
	return nil
}

func withPort(host, port string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), port)
}

// String returns the URL without credentials and parameters.
func (t *target) String() string {
	s := t.scheme + "://" + strings.Join(t.addrs, ",")
	if t.master != "" {
		s += "/" + t.master
	}
	if t.db != 0 {
		s += "/" + strconv.Itoa(t.db)
	}
	return s
}

// secrets returns what no error may show, as it is and as it stands in URLs.
func (t *target) secrets() []string {
	var all []string
	for _, s := range []string{t.password, t.sentinelPassword} {
		if s != "" {
			all = append(all, s, strings.Trim(strconv.Quote(s), `"`), url.QueryEscape(s), url.UserPassword("", s).String()[1:])
		}
	}
	return all
}
