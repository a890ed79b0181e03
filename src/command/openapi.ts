import { describeServices } from '../service/routes.ts'
import type { Command } from './command.ts'

/** `openapi`: the document that `/openapi.json` serves. */
export const openapiCommand: Command = {
  name: 'openapi',
  positionals: [],
  options: {},
  summary: 'Print the OpenAPI 3.1 document of the API',
  json: 'changes nothing: the document is JSON in any case',
  run: async (_args, io) => io.out(describeServices(io.config()).trimEnd()),
}
