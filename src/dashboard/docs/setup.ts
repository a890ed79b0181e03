import { readPackageVersion } from './pack.ts' with { type: 'macro' }

/** Version of `REFERENCE_SCRIPT`. A module of its own, so that the script loads on demand. */
export const REFERENCE_VERSION: string = readPackageVersion('@scalar/api-reference')

/** Options that turn off all requests to other servers: fonts, proxy, assistant, telemetry. */
const OPTIONS = {
  url: '../openapi.json',
  title: 'walletscope',
  operationTitleSource: 'path',
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never',
  // Keep the reader's key in the open page only.
  persistAuth: false,
}

/** Script that draws the API reference in `#app`. */
export const SETUP_SCRIPT = `Scalar.createApiReference('#app', ${JSON.stringify(OPTIONS)})`
