package manual

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

func TestHelp(t *testing.T) {
	t.Parallel()
	c := &cobra.Command{
		Use: "fill",
		Long: `Fill what is
there with what is not. It takes all.

EXIT STATUS
  0  it is full
  1  it is not, or nobody
     knows
  12 a line that has no two blanks and is long`,
		Example: "  fill --with a very long example that is no less than that",
		Run:     func(*cobra.Command, []string) {},
	}
	c.Flags().String("with", "", "what it is to be filled with")
	var b strings.Builder
	if err := Help(&b, c, 40); err != nil {
		t.Fatal(err)
	}
	const want = `Fill what is there with what is not. It
takes all.

EXIT STATUS
  0  it is full
  1  it is not, or nobody knows
  12 a line that has no two blanks and
    is long

Usage:
  fill [flags]

Examples:
  fill --with a very long example that is no less than that

Flags:
      --with string   what it is to be
                      filled with
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}
