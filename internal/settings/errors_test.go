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
			Error{"max-size", "-5", Origin{File, "/c.json"}, "a size"},
			`setting max-size="-5" (file /c.json): want a size`,
		},
		{Error{Name: "x", Origin: Origin{Source: Flag}}, "setting x (flag): there is no such setting"},
		{
			Error{"a", strings.Repeat("y", 100), Origin{Source: Program}, "b"},
			`setting a="` + strings.Repeat("y", 80) + `"… (100 bytes) (program): want b`,
		},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}
