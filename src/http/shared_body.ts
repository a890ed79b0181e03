/**
 * Bytes of an answer that all its readers share. A runtime copies text and other bytes for each reader, and keeps the
 * copy for as long as that one does not read: Bun all but those of a Blob, Node's adapter all but those that `node.ts`
 * sends itself.
 */
export interface SharedBody {
  readonly bytes: Uint8Array<ArrayBuffer>
  /** Undefined on Node. */
  readonly blob: Blob | undefined
}

const bodies = new WeakMap<Response, SharedBody>()

/** Creates a body to be sent by `createSharedResponse`. */
export function createSharedBody(bytes: Uint8Array<ArrayBuffer>): SharedBody {
  return { bytes, blob: 'Bun' in globalThis ? new Blob([bytes]) : undefined }
}

/** Creates a response with a body that it shares with others. */
export function createSharedResponse(body: SharedBody, init: ResponseInit): Response {
  const response = new Response(body.blob ?? null, init)
  bodies.set(response, body)
  return response
}

/** Returns the bytes of a response that shares them; undefined for any other. */
export function findSharedBytes(response: Response): Uint8Array | undefined {
  return bodies.get(response)?.bytes
}
