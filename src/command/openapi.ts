import { clientText } from '../http/openapi/client/client.ts'
import { describeServices } from '../service/routes.ts'
import type { Command } from './command.ts'

/** `openapi`: the document that `/openapi.json` serves, or a client made of it. */
export const openapiCommand: Command = {
  name: 'openapi',
  positionals: [],
  options: {},
  flags: { client: 'prints a typed client instead: one TypeScript file without imports' },
  summary: 'Print the OpenAPI 3.1 document of the API',
  json: 'changes nothing: the document is JSON in any case',
  async run({ flags }, io) {
    const document = describeServices(io.config())
    io.out((flags.has('client') ? clientText(document) : document).trimEnd())
  },
}
