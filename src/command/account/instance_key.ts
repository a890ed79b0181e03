import { rotateKey } from '../../receipt/signing.ts'
import { withAccountDatabase } from '../account_database.ts'
import type { Command } from '../command.ts'
import { print } from '../print.ts'
import { findActor } from './actor.ts'

/** `keys rotate`: manages the key that signs receipts. */
export const instanceKeyCommands: readonly Command[] = [
  {
    name: 'keys rotate',
    summary: 'Sign receipts with a new key; the old one stays published',
    run: async (args, io) => {
      const { instanceKey: pem } = io.config()
      const { keyId, replaced } = await withAccountDatabase(io, async (db) =>
        rotateKey(db, { pem, by: await findActor(io) }),
      )
      const text = `Signing with key ${keyId}${replaced === null ? '' : ` instead of ${replaced}`} within a minute`
      print({ key_id: keyId, replaced }, { args, io, text })
    },
  },
]
