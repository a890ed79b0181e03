import { compressFile } from './pack.ts' with { type: 'macro' }

/** Scalar's API reference with its dependencies: a script, compressed with Brotli, in base64. */
export const REFERENCE_SCRIPT: string = compressFile('@scalar/api-reference/dist/browser/standalone.js')
