/** What the bundle names and only Bun has: the embedded database, which is never started on Node, and what macros read. */
declare const Bun: {
  readonly embeddedFiles: readonly Blob[]
  zstdCompressSync(text: string, options: { readonly level: number }): Buffer<ArrayBuffer>
  zstdDecompress(bytes: ArrayBuffer): Promise<Buffer>
  readonly markdown: { html(text: string, options: { readonly headings: { readonly ids: boolean } }): string }
}

declare module 'bun:sqlite' {
  export class Database {
    constructor(file: string)
    run(statement: string): void
    close(): void
  }
}

interface ImportMeta {
  readonly dir: string
}

/** A type of browsers, which Node's types keep to themselves. */
interface EventListenerObject {
  handleEvent(event: Event): void
}
