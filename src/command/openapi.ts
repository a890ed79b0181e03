import type { Config } from '../config/config.ts'
import { clientText } from '../http/openapi/client.ts'
import { withServerUrl } from '../http/openapi/document.ts'
import { formatServerUrl } from '../http/server/listening.ts'
import { describePlanes } from '../service/planes.ts'
import { describeServices } from '../service/routes.ts'
import { toReachableHost } from '../service/serve/login_url.ts'
import { type Command, usageError } from './command.ts'

/** `openapi`: prints the document that `/openapi.json` serves, or a client generated from it. */
export const openapiCommand: Command = {
  name: 'openapi',
  flags: {
    client: 'prints a typed client instead: one TypeScript file without imports',
    operator: 'prints the document of the operator plane, /admin/v1',
    organization: 'prints the document of the organization plane, /dashboard/v1',
  },
  summary: 'Print the OpenAPI 3.1 document of the API, or a typed client',
  example: 'openapi --client > walletscope.ts',
  json: 'changes nothing: the document is JSON in any case',
  async run({ flags }, io) {
    if (flags.size > 1)
      throw usageError('Cannot print several at once: expected one of --client, --operator, --organization')
    io.out(createDocument(flags, io.config()).trimEnd())
  },
}

function createDocument(flags: ReadonlySet<string>, config: Config): string {
  if (flags.has('operator')) return describePlanes(config).operator
  if (flags.has('organization')) return describePlanes(config).organization
  const document = withServerUrl(formatServerUrl(toReachableHost(config.host), config.port), describeServices(config))
  return flags.has('client') ? clientText(document) : document
}
