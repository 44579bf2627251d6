// Package manifests decodes the files of packaging/kubernetes strictly into Kubernetes's own types.
// It is a module of its own, so that nothing else depends on those.
package manifests

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

const dir = "../../packaging/kubernetes"

var separator = regexp.MustCompile(`(?m)^---$`)

// documents returns the documents of a file, each with its kind.
func documents(t *testing.T, file string) (all [][]byte, kinds []string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range separator.Split(string(b), -1) {
		var of struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
		}
		if err := yaml.Unmarshal([]byte(text), &of); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all, kinds = append(all, []byte(text)), append(kinds, of.APIVersion+" "+of.Kind)
	}
	return all, kinds
}

func TestManifests(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(files) != 4 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		all, kinds := documents(t, file)
		for i, b := range all {
			var spec *corev1.PodSpec
			switch kinds[i] {
			case "v1 Namespace":
				strict(t, file, b, new(corev1.Namespace))
			case "v1 ConfigMap":
				m := new(corev1.ConfigMap)
				strict(t, file, b, m)
				if config := m.Data["agent.json"]; m.Name == "kernstash-agent" && !json.Valid([]byte(config)) {
					t.Errorf("%s: agent.json is no JSON: %s", file, config)
				}
			case "v1 Pod":
				p := new(corev1.Pod)
				strict(t, file, b, p)
				spec = &p.Spec
			case "apps/v1 DaemonSet":
				d := new(appsv1.DaemonSet)
				strict(t, file, b, d)
				spec = &d.Spec.Template.Spec
				for k, v := range d.Spec.Selector.MatchLabels {
					if d.Spec.Template.Labels[k] != v {
						t.Errorf("%s: the pods lack the label %s", file, k)
					}
				}
			default:
				t.Errorf("%s: %s is not known here", file, kinds[i])
			}
			if spec != nil {
				check(t, file, spec)
				if kinds[i] == "v1 Pod" {
					checkApplication(t, file, spec)
				}
			}
		}
	}
}

func strict(t *testing.T, file string, b []byte, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict(b, into); err != nil {
		t.Errorf("%s: %v", file, err)
	}
}

// check finds what decodes and would not start.
func check(t *testing.T, file string, spec *corev1.PodSpec) {
	t.Helper()
	volumes := make(map[string]bool)
	for _, v := range spec.Volumes {
		volumes[v.Name] = true
		if v.VolumeSource == (corev1.VolumeSource{}) {
			t.Errorf("%s: volume %s has no source", file, v.Name)
		}
	}
	for _, c := range append(spec.InitContainers, spec.Containers...) {
		if c.Image == "" {
			t.Errorf("%s: container %s has no image", file, c.Name)
		}
		for _, m := range c.VolumeMounts {
			if !volumes[m.Name] || !strings.HasPrefix(m.MountPath, "/") {
				t.Errorf("%s: container %s mounts %s at %q", file, c.Name, m.Name, m.MountPath)
			}
		}
		for _, e := range c.Env { // a layer that is mounted
			if e.Name == "KERNSTASH_LAYERS" && !within(e.Value, c.VolumeMounts) {
				t.Errorf("%s: %s is in no volume", file, e.Value)
			}
		}
	}
}

// checkApplication finds what keeps an application from starting where there is no agent, no registry or no list of
// keys, and what lets one pod deceive the others of its node.
func checkApplication(t *testing.T, file string, spec *corev1.PodSpec) {
	t.Helper()
	hosts := make(map[string]bool)
	for _, v := range spec.Volumes {
		if h := v.HostPath; h != nil {
			hosts[v.Name] = true
			if h.Type == nil || *h.Type != corev1.HostPathDirectoryOrCreate {
				t.Errorf("%s: the pod waits for %s", file, h.Path)
			}
		}
		if m := v.ConfigMap; m != nil && (m.Optional == nil || !*m.Optional) {
			t.Errorf("%s: the pod waits for the ConfigMap %s", file, m.Name)
		}
	}
	for _, c := range append(spec.InitContainers, spec.Containers...) {
		for _, m := range c.VolumeMounts {
			if hosts[m.Name] && !m.ReadOnly {
				t.Errorf("%s: container %s may write %s of its node", file, c.Name, m.MountPath)
			}
		}
		for _, line := range strings.Split(strings.Join(c.Args, "\n"), "\n") {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "kernstash bundle ") {
				t.Errorf("%s: nothing ends %q", file, line)
			}
		}
	}
}

func within(path string, mounts []corev1.VolumeMount) bool {
	for _, m := range mounts {
		if path == m.MountPath || strings.HasPrefix(path, m.MountPath+"/") {
			return true
		}
	}
	return false
}

// TestStrict: a field that does not exist is an error, or the test above could not fail.
func TestStrict(t *testing.T) {
	for _, text := range []string{"kind: Pod\nspec: {contaners: []}", "kind: Pod\nspec: {containers: [{name: a, ports: 80}]}", "kind: Pod\nspec: {hostPID: maybe}"} {
		if err := yaml.UnmarshalStrict([]byte(text), new(corev1.Pod)); err == nil {
			t.Errorf("%q decodes", text)
		}
	}
}
