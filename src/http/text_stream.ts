import { createGzip } from 'node:zlib'

/** The fastest level, as of other answers. */
const LEVEL = 1

/**
 * Creates a body of texts, each made once its reader has taken the one before. Compressed by gzip, each can be read before
 * the next is there. When the reader leaves, the texts are returned. They must not throw.
 */
export function createTextStream(
  texts: AsyncGenerator<string, void>,
  { isCompressed }: { readonly isCompressed: boolean },
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const encoder = isCompressed ? createGzipEncoder() : createPlainEncoder()
  let hasLeft = false
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await texts.next()
        if (hasLeft) return
        const bytes = done ? await encoder.end() : await encoder.encode(value)
        if (hasLeft) return
        if (bytes.length > 0) controller.enqueue(bytes)
        if (done) controller.close()
      },
      async cancel() {
        hasLeft = true
        // Once a text that is being made is there.
        await texts.return()
        encoder.leave()
      },
    },
    { highWaterMark: 0 },
  )
}

interface TextEncoding {
  encode(text: string): Promise<Uint8Array<ArrayBuffer>>
  /** Returns what follows the last text. */
  end(): Promise<Uint8Array<ArrayBuffer>>
  /** Frees what it holds, without an end. */
  leave(): void
}

function createPlainEncoder(): TextEncoding {
  return { encode: async (text) => Buffer.from(text), end: async () => new Uint8Array(), leave() {} }
}

function createGzipEncoder(): TextEncoding {
  const gzip = createGzip({ level: LEVEL })
  const chunks: Buffer[] = []
  gzip.on('data', (chunk: Buffer) => chunks.push(chunk))
  const takeChunks = () => new Uint8Array(Buffer.concat(chunks.splice(0)))
  return {
    encode: (text) =>
      new Promise((resolve) => {
        gzip.write(text)
        gzip.flush(() => resolve(takeChunks()))
      }),
    end: () =>
      new Promise((resolve) => {
        gzip.once('end', () => resolve(takeChunks()))
        gzip.end()
      }),
    leave: () => void gzip.destroy(),
  }
}
