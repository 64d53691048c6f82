package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

const base = "https://api.metroon.test"

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func body(name string, answer *http.Response, err error) {
	check(err)
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	check(err)
	fmt.Println("line", name, answer.Proto, answer.StatusCode)
	fmt.Printf("body %s %d %x\n", name, len(content), sha256.Sum256(content))
}

func main() {
	for _, path := range []string{"/json", "/bytes/200000", "/encoded/gzip", "/count", "/count", "/redirect?to=/json"} {
		answer, err := http.Get(base + path)
		body(path, answer, err)
	}
	answer, err := http.Post(base+"/upload", "text/plain", bytes.NewReader(bytes.Repeat([]byte("croak"), 1000)))
	body("upload", answer, err)
	answer, err = http.Get(base + "/sse?n=5&gap=100")
	check(err)
	buffer := make([]byte, 4096)
	for {
		count, err := answer.Body.Read(buffer)
		if count > 0 {
			fmt.Printf("piece %d sse %x\n", time.Now().UnixMilli(), buffer[:count])
		}
		if err == io.EOF {
			break
		}
		check(err)
	}
}
