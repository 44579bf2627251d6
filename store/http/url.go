package http

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/kernstash/kernstash/internal/tlsfiles"
)

// files are those that a URL names.
type files struct {
	tlsfiles.Names
	token string
}

// parse parses a URL. Its errors show no part in which a password may stand that has not been encoded
// as URLs ask for.
func parse(rawURL string) (*target, error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Fragment != "" || u.User == nil && strings.Contains(rawURL, "@") {
		return nil, errors.New("the URL cannot be parsed; in a user's name and password, characters such as / # ? @ : are written %2F %23 %3F %40 %3A")
	}
	parameters, err := url.ParseQuery(u.RawQuery)
	switch {
	case err != nil:
		return nil, errors.New("the parameters of the URL cannot be parsed")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("the URL's scheme is %q, want http or https", u.Scheme)
	case u.Hostname() == "" || u.Opaque != "":
		return nil, errors.New("the URL has no host")
	}
	t := &target{user: u.User, base: &url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimRight(u.Path, "/") + "/"}}
	for name, values := range parameters {
		switch value := values[len(values)-1]; name {
		case "token-file":
			t.files.token = value
		case "ca-file":
			t.files.CA = value
		case "cert-file":
			t.files.Cert = value
		case "key-file":
			t.files.Key = value
		case "max-size":
			t.maxSize, err = strconv.ParseInt(value, 10, 64)
			if err != nil || t.maxSize <= 0 {
				return nil, fmt.Errorf("the URL's parameter max-size=%s is invalid", value)
			}
		default:
			return nil, fmt.Errorf("the URL has an unknown parameter %q", name)
		}
	}
	switch {
	case t.files.token != "" && t.user != nil:
		return nil, errors.New("the URL has both a user and a token-file")
	case u.Scheme == "http" && t.files.Names != (tlsfiles.Names{}):
		return nil, errors.New("ca-file, cert-file and key-file need https://")
	}
	if t.files.token != "" {
		if _, err := readToken(t.files.token); err != nil {
			return nil, err
		}
	}
	t.tls, err = t.files.Config()
	return t, err
}

// readToken returns a bearer token. It is read for each request, since tokens are replaced while
// programs run.
func readToken(file string) (string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("token-file: %w", err)
	}
	token := bytes.TrimSpace(b)
	if len(token) == 0 || len(token) > 16<<10 || bytes.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("token-file: %s does not hold a token", file)
	}
	return string(token), nil
}

// secrets returns what no error may show: of the URL, and of the proxies' variables.
func secrets(user *url.Userinfo) (all []string) {
	add := func(user *url.Userinfo) {
		password, _ := user.Password()
		if password == "" {
			return
		}
		_, encoded, _ := strings.Cut(user.String(), ":")
		all = append(all, password, encoded, url.QueryEscape(password), strings.Trim(strconv.Quote(password), `"`),
			base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	if user != nil {
		add(user)
	}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		value := os.Getenv(name)
		if !strings.Contains(value, "@") {
			continue
		}
		all = append(all, value) // as a whole, if it is no URL
		if !strings.Contains(value, "://") {
			value = "http://" + value // as net/http reads it
		}
		if u, err := url.Parse(value); err == nil && u.User != nil {
			add(u.User)
		}
	}
	return all
}
