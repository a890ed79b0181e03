import { compressFile } from './pack.ts' with { type: 'macro' }

/** Scalar's API reference with everything that it needs: a script, packed by Brotli, in base64. */
export const REFERENCE_SCRIPT: string = compressFile('@scalar/api-reference/dist/browser/standalone.js')
