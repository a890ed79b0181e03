import { drawPage } from '../lib/view.ts'
import { ExplorePage } from './page.tsx'

drawPage(<ExplorePage />)
