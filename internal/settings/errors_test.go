package settings

import (
	"strings"
	"testing"
)

func TestErrorTexts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  Error
		want string
	}{
		{
			Error{Name: "max-size", Value: "-5", Origin: Origin{File, "/c.json"}, Want: "a size"},
			`setting max-size="-5" (file /c.json): want a size`,
		},
		{
			Error{Name: "disabel", Origin: Origin{Source: Flag}, Meant: "disable", Effect: "the cache is off"},
			"setting disabel (flag): there is no such setting, is it disable?; the cache is off",
		},
		{Error{Name: "x", Origin: Origin{Source: Flag}}, "setting x (flag): there is no such setting"},
		{
			Error{Name: "a", Value: strings.Repeat("y", 100), Origin: Origin{Source: Program}, Want: "b"},
			`setting a="` + strings.Repeat("y", 80) + `"… (100 bytes) (program): want b`,
		},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}
