/** One entry of an archive. */
export type TarEntry =
  | { readonly kind: 'file'; readonly path: string; readonly mode: number; readonly bytes: Uint8Array }
  | { readonly kind: 'link'; readonly path: string; readonly target: string }

const BLOCK = 512

/** Files and symbolic links of an uncompressed ustar archive. Throws on anything that `writeTar` does not write. */
export function readTar(bytes: Uint8Array): readonly TarEntry[] {
  const entries: TarEntry[] = []
  for (let at = 0; at + BLOCK <= bytes.length && bytes[at] !== 0; ) {
    const header = bytes.subarray(at, at + BLOCK)
    const path = safePath(text(header, 0, 100))
    const size = Number.parseInt(text(header, 124, 12), 8)
    const mode = Number.parseInt(text(header, 100, 8), 8)
    const type = text(header, 156, 1)
    const body = at + BLOCK
    if (body + size > bytes.length) throw new Error(`Cannot unpack "${path}": the archive is cut short`)
    if (type === '0') entries.push({ kind: 'file', path, mode, bytes: bytes.subarray(body, body + size) })
    else if (type === '2') entries.push({ kind: 'link', path, target: safePath(text(header, 157, 100)) })
    else throw new Error(`Cannot unpack "${path}": entries of type "${type}" are not expected`)
    at = body + Math.ceil(size / BLOCK) * BLOCK
  }
  return entries
}

/** An archive of `entries` in the order given; reproducible, without times and owners. */
export function writeTar(entries: readonly TarEntry[]): Uint8Array {
  const blocks: Uint8Array[] = []
  for (const entry of entries) {
    const size = entry.kind === 'file' ? entry.bytes.length : 0
    blocks.push(tarHeader(entry, size))
    if (entry.kind === 'file') blocks.push(entry.bytes, new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK))
  }
  blocks.push(new Uint8Array(2 * BLOCK))
  return new Uint8Array(Buffer.concat(blocks))
}

function tarHeader(entry: TarEntry, size: number): Uint8Array {
  const header = Buffer.alloc(BLOCK)
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`
  if (Buffer.byteLength(entry.path) > 100) throw new Error(`Cannot pack "${entry.path}": its path is too long`)
  header.write(entry.path, 0)
  header.write(octal(entry.kind === 'file' ? entry.mode : 0o777, 7), 100)
  header.write(octal(0, 7), 108)
  header.write(octal(0, 7), 116)
  header.write(octal(size, 11), 124)
  header.write(octal(0, 11), 136)
  header.write('        ', 148)
  header.write(entry.kind === 'file' ? '0' : '2', 156)
  if (entry.kind === 'link') header.write(entry.target, 157)
  header.write('ustar\0', 257)
  header.write('00', 263)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return header
}

function text(header: Uint8Array, start: number, length: number): string {
  const field = header.subarray(start, start + length)
  const end = field.indexOf(0)
  return Buffer.from(end === -1 ? field : field.subarray(0, end)).toString('utf8')
}

function safePath(path: string): string {
  if (path === '' || path.startsWith('/') || path.split('/').includes('..')) {
    throw new Error(`Cannot unpack "${path}": it leads outside the directory`)
  }
  return path
}
