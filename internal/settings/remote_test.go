package settings

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRemote(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                    nil,
		"redis://cache:6379":  {"redis://cache:6379"},
		"file:///srv/objects": {"file:///srv/objects"},
		"none":                nil,
		"rediss://u:p@h:1/2, s3://b/p?endpoint=https://s:9000,https://h/x": {"rediss://u:p@h:1/2", "s3://b/p?endpoint=https://s:9000", "https://h/x"},
		"s3://b/a%2Cb": {"s3://b/a%2Cb"},
	} {
		s, err := Load(Inputs{Environ: []string{"KERNSTASH_REMOTE=" + text}})
		if diff := cmp.Diff(want, s.Remote); err != nil || diff != "" {
			t.Errorf("%q: %v (-want +got)\n%s", text, err, diff)
		}
	}
	for _, text := range []string{"cache:6379", "ftp://h", "redis://", "redis://a,,redis://b", "REDIS://h", "://h", "redis://a,b"} {
		s, err := Load(Inputs{Environ: []string{"KERNSTASH_REMOTE=" + text}, Lenient: true})
		if err != nil || s.Remote != nil || len(s.Warnings) != 1 || !strings.HasSuffix(s.Warnings[0].Error(), "; no remote is used") {
			t.Errorf("%q: %v, %v, %v", text, s.Remote, s.Warnings, err)
		}
	}
}

func TestTenant(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{
		"a": true, "team-1.x_y": true, "7": true, strings.Repeat("a", 64): true,
		"": false, "A": false, "a/b": false, "..": false, "-a": false, "_": false, "a b": false, "ä": false, "a:b": false, "a*": false,
		strings.Repeat("a", 65): false,
	} {
		if got, err := ParseTenant(text); (err == nil) != good || good && got != text {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	// Entries of another tenant must not be used instead.
	s, _ := Load(Inputs{Environ: []string{"KERNSTASH_REMOTE=redis://h", "KERNSTASH_TENANT=A/B"}, Lenient: true})
	if s.Remote != nil || s.Tenant != "default" {
		t.Errorf("remote %v, tenant %q", s.Remote, s.Tenant)
	}
}

func TestMaskRemote(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                "",
		"redis://cache:6379/2":            "redis://cache:6379/2",
		"redis://u:secret@cache":          "redis://***@cache",
		"redis://:se/cr?et@cache":         "redis://***@cache",
		"redis://:se,cret@h,s3://b/p":     "redis://***@h,s3://b/p",
		"redis://:se@cret@h":              "redis://***@h",
		"user:secret@h":                   "***@h",
		"s3://b/p?endpoint=https://s:9&x": "s3://b/p?endpoint=https://s:9&***",
		"s3://b?secret-key=s&region=eu,https://h?token=a%2Cb":    "s3://b?secret-key=***&region=eu,https://h?token=***",
		"s3://b?secret-key=s,redis://h":                          "s3://b?secret-key=***,redis://h",
		"s3://b?endpoint=https://u:secret@s:9&region=eu":         "s3://b?endpoint=https://***@s:9&region=eu",
		"s3://b?endpoint=https%3A%2F%2Fu%3Asecret%40s":           "s3://b?endpoint=***",
		"Get \"https://u:p@h/x?X-Amz-Signature=abc\": timed out": "Get \"https://***@h/x?X-Amz-Signature=***",
	} {
		if got := MaskRemote(text); got != want {
			t.Errorf("MaskRemote(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzMaskRemote(f *testing.F) {
	f.Add("redis://u:", "@h:6379", "")
	f.Add("s3://b/p?endpoint=https://h,redis://", "@h", "?a=b&c")
	f.Fuzz(func(t *testing.T, before, after, more string) {
		const secret = "S3CR3T-"
		if strings.Contains(before+after+more, "3") {
			return
		}
		got := MaskRemote(before + "://user:" + secret + "@" + after + more)
		if strings.Contains(got, secret) {
			t.Errorf("%q", got)
		}
	})
}

// TestSecretsAreNotShown looks at all that people are told about settings.
func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	for _, environ := range [][]string{
		{"KERNSTASH_REMOTE=redis://u:" + secret + "@h,s3://b?secret-key=" + secret},
		{"KERNSTASH_REMOTE=redis//u:" + secret + "@h"},
		{"KERNSTASH_REMOTE=ftp://u:" + secret + "@h"},
		{"KERNSTASH_REMOTES=redis://u:" + secret + "@h"},
	} {
		s, err := Load(Inputs{Environ: environ, Lenient: true})
		if err != nil {
			t.Fatal(err)
		}
		if text := fmt.Sprintf("%+v %+v %v", s.All(), s.Warnings, s.Unsaid()); strings.Contains(text, secret) {
			t.Errorf("%s: %s", environ, text)
		}
	}
}
