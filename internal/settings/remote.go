package settings

import (
	"fmt"
	"slices"
	"strings"
)

// RemoteSchemes begin the addresses that the setting remote takes.
var RemoteSchemes = []string{"redis", "rediss", "unix", "s3", "http", "https", "file"}

// maxTenant bounds the name of a tenant: it is a part of each object's name.
const maxTenant = 64

// ParseRemotes reads a value of the setting remote. Its error shows no secret.
func ParseRemotes(text string) ([]string, error) {
	all, err := parseRemotes(text)
	if err != nil {
		return nil, fmt.Errorf("remote %q: want %s", MaskRemote(text), remotesKind.accepts)
	}
	return all, nil
}

// RemoteNone says that there are none, whatever an earlier source says.
const RemoteNone = "none"

// parseRemotes reads a list of addresses. A comma inside an address is written %2C. What
// follows the scheme is for who opens the remote.
func parseRemotes(text string) ([]string, error) {
	text, err := parseText(text)
	if err != nil {
		return nil, err
	}
	if text == RemoteNone {
		return nil, nil
	}
	var all []string
	for address := range strings.SplitSeq(text, ",") {
		address = strings.TrimSpace(address)
		scheme, rest, ok := strings.Cut(address, "://")
		if !ok || rest == "" || !slices.Contains(RemoteSchemes, scheme) {
			return nil, errMalformed
		}
		all = append(all, address)
	}
	return all, nil
}

func formatRemotes(all []string) string { return strings.Join(all, ",") }

// ParseTenant reads the name of a tenant: 1 to 64 of a-z, 0-9, '.', '-' and '_', of which the
// first is a letter or a digit.
func ParseTenant(text string) (string, error) {
	letter := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' }
	for i, r := range text {
		if !letter(r) && (i == 0 || !strings.ContainsRune(".-_", r)) {
			return "", errMalformed
		}
	}
	if text == "" || len(text) > maxTenant {
		return "", errMalformed
	}
	return text, nil
}

// shownParameters are those of an address that hold no secret.
var shownParameters = []string{
	"addr", "anonymous", "ca", "ca-file", "cert-file", "cluster", "db", "endpoint", "key-file", "max-size", "path-style", "region",
	"sentinel-master", "ttl",
}

const masked = "***"

// MaskRemote returns a text that may hold addresses of remotes, in any state, with what may be a
// secret replaced: users and passwords, and parameters that are not known to hold none.
func MaskRemote(text string) string {
	var b strings.Builder
	for {
		i := strings.Index(text, "://")
		if i < 0 {
			b.WriteString(maskPart(text))
			return b.String()
		}
		// The text before belongs to the address before it, but for the scheme.
		scheme := i
		for scheme > 0 && isSchemeByte(text[scheme-1]) {
			scheme--
		}
		b.WriteString(maskPart(text[:scheme]))
		b.WriteString(text[scheme : i+3])
		text = text[i+3:]
	}
}

func isSchemeByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// maskPart masks what stands between two schemes: a password may hold whatever its owner did not
// encode, so all goes up to the last '@'.
func maskPart(text string) string {
	var b strings.Builder
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		b.WriteString(masked)
		text = text[i:]
	}
	start := strings.IndexAny(text, "?&")
	if start < 0 {
		b.WriteString(text)
		return b.String()
	}
	b.WriteString(text[:start])
	for text = text[start:]; text != ""; {
		separator := text[:1]
		next := strings.IndexAny(text[1:], "?&")
		parameter := text[1:]
		if next >= 0 {
			parameter = text[1 : 1+next]
		}
		text = text[1+len(parameter):]
		name, value, ok := strings.Cut(parameter, "=")
		b.WriteString(separator)
		switch {
		case !ok && parameter == "":
		case !ok:
			b.WriteString(masked)
		case slices.Contains(shownParameters, name) && !strings.Contains(strings.ToLower(value), "%40"):
			b.WriteString(name + "=" + value)
		default:
			b.WriteString(name + "=" + masked)
			if strings.HasSuffix(value, ",") { // the next address follows
				b.WriteByte(',')
			}
		}
	}
	return b.String()
}
