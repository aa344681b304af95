# Few verbs, each of them a plain command that can be typed by hand.
GO   ?= go
TOOL  = $(GO) tool -modfile=tools.mod

.PHONY: try build test lint generate bench cover clean

# The main job on this repository's own files, and one refusal.
try: build
	bin/wrap --readonly cat README.md
	bin/wrap --readonly sort -o out.txt README.md; test $$? -eq 126

build:
	$(GO) build -trimpath -o bin/ ./cmd/wrap ./cmd/wrapctl

# All tests, and what CI calls. A test of the kernel's enforcement that cannot
# run here is skipped with the reason, and fails where CI=true.
test: lint
	$(GO) test -race -timeout 20m ./...

lint:
	$(GO) mod tidy -diff
	$(GO) vet ./...
	$(TOOL) staticcheck ./...
	@files=$$($(TOOL) gofumpt -l .); \
	if [ -n "$$files" ]; then printf 'gofumpt would change:\n%s\n' "$$files"; exit 1; fi

# Compiles the data (overlays, regions, profiles) to Go. Tests fail if the
# result in the tree is not what this writes.
generate:
	$(GO) generate ./...

# Measures added start-up and throughput beside what one would take instead,
# and writes docs/BENCHMARKS.md. Asserts nothing.
bench: build
	$(GO) run ./bench -wrap bin/wrap -out docs/BENCHMARKS.md

cover:
	@mkdir -p bin
	$(GO) test -coverpkg=./... -coverprofile=bin/cover.out ./...
	$(GO) tool cover -func=bin/cover.out | tail -n 1

clean:
	rm -rf bin
