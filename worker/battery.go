package worker

import (
	"os"
	"path/filepath"
	"strings"
)

// OnBattery says whether the machine runs on battery, as far as Linux tells: a
// battery discharges, and no other supply is there.
func OnBattery() bool { return onBattery("/sys/class/power_supply") }

func onBattery(dir string) bool {
	supplies, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	discharging := false
	for _, s := range supplies {
		get := func(name string) string {
			b, err := os.ReadFile(filepath.Join(dir, s.Name(), name))
			if err != nil {
				return ""
			}
			return strings.TrimSpace(string(b))
		}
		switch get("type") {
		case "Battery":
			// A mouse has one too: its scope is "Device".
			if get("status") == "Discharging" && get("scope") != "Device" {
				discharging = true
			}
		case "Mains", "USB":
			if get("online") == "1" {
				return false
			}
		}
	}
	return discharging
}
