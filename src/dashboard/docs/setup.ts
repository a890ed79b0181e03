import { readPackageVersion } from './pack.ts' with { type: 'macro' }

/** Version of `REFERENCE_SCRIPT`, which is loaded only if somebody reads it. */
export const REFERENCE_VERSION: string = readPackageVersion('@scalar/api-reference')

/** What the renderer would ask of servers elsewhere is off: fonts, a proxy for requests, its assistant, telemetry. */
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
  // The key of a reader stays in the open page.
  persistAuth: false,
}

/** Script that draws the API reference in `#app`. */
export const SETUP_SCRIPT = `Scalar.createApiReference('#app', ${JSON.stringify(OPTIONS)})`
