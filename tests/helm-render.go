// The template of a Helm chart with values, as Helm renders it: helm-render TEMPLATE <JSON, which has Chart, Release and Values. Of Helm's own functions it has those that our
// chart uses; as its YAML it prints JSON, which is YAML, too.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/template"
)

func toYaml(x interface{}) string {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if e.Encode(x) != nil {
		return ""
	}
	return strings.TrimSpace(out.String())
}

func otherwise(absent interface{}, given interface{}) interface{} {
	if given == nil || given == "" {
		return absent
	}
	return given
}

func main() {
	functions := template.FuncMap{
		"toYaml":    toYaml,
		"default":   otherwise,
		"quote":     func(x interface{}) string { return fmt.Sprintf("%q", fmt.Sprint(x)) },
		"nindent":   func(n int, text string) string { return "\n" + strings.Repeat(" ", n) + text },
		"sha256sum": func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) },
	}
	var values map[string]interface{}
	input := json.NewDecoder(os.Stdin)
	input.UseNumber()
	err := input.Decode(&values)
	if err == nil {
		var text []byte
		text, err = os.ReadFile(os.Args[1])
		if err == nil {
			var t *template.Template
			t, err = template.New("chart").Funcs(functions).Option("missingkey=zero").Parse(string(text))
			if err == nil {
				err = t.Execute(os.Stdout, values)
			}
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
