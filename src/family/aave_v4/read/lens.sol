// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import {LensPage} from '../../../chain/call/page.sol';
import {Tokens} from '../../../finance/token/tokens.sol';

interface IAccessManager {
    function getRoleTargetCount(uint64) external view;
    function getRoleTargets(uint64, uint256, uint256) external view;
}

interface IOracle {
    function getReservePrice(uint256) external view;
}

interface IHub {
    function getAsset(uint256) external view;
    function getSpoke(uint256, address) external view;
    function getAssetDrawnIndex(uint256) external view;
    function getAddedAssets(uint256) external view;
    function HUB_REVISION() external view;
}

interface ISpoke {
    function ORACLE() external view;
    function SPOKE_REVISION() external view;
    function getReserveCount() external view;
    function getReserve(uint256) external view;
    function getDynamicReserveConfig(uint256, uint32) external view;
    function getLiquidationConfig() external view;
    function getUserPosition(uint256, address) external view;
    function getUserReserveStatus(uint256, address) external view;
    function getUserSuppliedAssets(uint256, address) external view;
    function getUserDebt(uint256, address) external view;
    function getUserLastRiskPremium(address) external view;
    function getUserAccountData(address) external view;
}

/// Reads what wallets supply and owe in spokes of Aave V4, in one `eth_call`, by the getters alone: nothing depends on
/// the layout of storage. It is never deployed: its code stands at an address for the length of one call, or runs as the
/// creation code of one.
///
/// The answer is a packed stream, big-endian, without padding; `abi.ts` decodes it.
///
///   header     as in `page.sol`, then u8 1 if the access manager answered, u8 number of its spokes, their addresses;
///              u8 number of spokes asked for, then for each u8 1 if it answered
///   1 spoke    u8 spoke, u64 revision, u8 1 if its liquidation configuration answered, u128 target health factor, u128
///              health factor of the greatest bonus, u16 factor of the least bonus, u8 1 if any of its reserves lends
///   2 reserve  u8 spoke, u16 id, address hub, u16 asset id, u8 decimals, u24 collateral risk, u8 flags, u32 latest key of
///              its configuration, configuration, optional u256 price, u8 1 if the configuration and the hub answered,
///              u64 revision of the hub, u128 liquidity, u128 added shares, u128 drawn shares, u128 premium shares, u16
///              fee, u128 drawn rate, u128 drawn index now, u256 added assets now, then of the spoke at the hub u128 drawn
///              shares, u128 premium shares, u24 risk premium threshold, u8 1 if active, u8 1 if halted; the token as in
///              `tokens.sol`
///   3 account  u32 wallet, u8 spoke, optional u32 applied risk premium, u8 1 if `getUserAccountData` answered, then its
///              seven u256, u16 number of holdings, then for each: u16 reserve id, u8 flags: 1 collateral, 2 borrowing,
///              4 its amounts and configuration answered, u128 drawn shares, u128 premium shares, i256 premium offset, u128
///              supplied shares, u32 the wallet's key, configuration of it, u256 supplied, u256 drawn debt, u256 premium
///   4 broken   u32 wallet, u8 spoke: a position or its flags do not answer
///   configuration: u16 collateral factor, u32 greatest liquidation bonus; optional: u8 1 if it is known, the value
///
/// Spokes and reserves are written before the first account that needs them; a wallet without anything in a spoke has no
/// account there, whatever flags it has set. A page ends early, and says so by `taken`, before gas could run out inside
/// a call or the answer grow too long.
contract Lens is LensPage, Tokens {
    /// Role of the access manager whose targets are the spokes.
    uint256 private constant SPOKE_ROLE = 301;
    uint256 private constant TARGETS_MAX = 64;
    uint256 private constant RESERVES_MAX = 512;
    uint256 private constant PRICE_GAS = 1_500_000;
    /// `getUserAccountData`: so much, and so much for each reserve that the wallet uses.
    uint256 private constant ACCOUNT_GAS = 300_000;
    uint256 private constant ACCOUNT_RESERVE_GAS = 300_000;
    /// What is left over to end the page.
    uint256 private constant END_GAS = 150_000;
    /// A reserve in memory: the seven words of `getReserve`, then 1 if it is written.
    uint256 private constant RESERVE_BYTES = 256;
    /// A position in memory: the five words of `getUserPosition`, then its flags.
    uint256 private constant POSITION_BYTES = 192;
    /// Answers are at most the 17 words of `getAsset`.
    uint256 private constant ANSWER_BYTES = 544;

    struct Spoke {
        address at;
        address oracle;
        bool answered;
        bool written;
        uint256 index;
        uint256 count;
        uint256 reserves;
        /// Room for what one wallet has; all spokes use the same, one after the other.
        uint256 positions;
    }

    /// What each wallet has in each spoke.
    function read(address manager, address[] calldata at, address[] calldata wallets, uint256 bytesMax) external view {
        Page memory page;
        page.question = reserve(128);
        page.answer = reserve(ANSWER_BYTES);
        uint256 targets = readTargets(page, manager);
        uint256 positions = reserve(RESERVES_MAX * POSITION_BYTES);
        Spoke[] memory spokes = new Spoke[](at.length);
        for (uint256 i = 0; i < at.length; i++) {
            spokes[i].at = at[i];
            spokes[i].index = i;
            spokes[i].positions = positions;
            open(page, spokes[i]);
        }
        begin(page);
        writeTargets(page, targets);
        put(page, spokes.length, 1);
        for (uint256 i = 0; i < spokes.length; i++) put(page, spokes[i].answered ? 1 : 0, 1);
        page.checkpoint = page.cursor;
        for (uint256 w = 0; w < wallets.length; w++) {
            for (uint256 i = 0; i < spokes.length; i++) {
                if (spokes[i].answered) account(page, spokes[i], w, wallets[w]);
            }
            if (page.cursor - page.start > bytesMax) finish(page);
            page.checkpoint = page.cursor;
            page.taken = w + 1;
        }
        finish(page);
    }

    /// Spokes that the access manager names: offset, number and addresses as it answers them; 0 if it does not.
    function readTargets(Page memory page, address manager) private view returns (uint256 targets) {
        if (!ask1(page, manager, IAccessManager.getRoleTargetCount.selector, SPOKE_ROLE, 32)) return 0;
        uint256 count = word(page.answer);
        if (count > TARGETS_MAX) return 0;
        uint256 answer = page.answer;
        targets = reserve(64 + TARGETS_MAX * 32);
        page.answer = targets;
        argument(page, 0, SPOKE_ROLE);
        argument(page, 1, 0);
        argument(page, 2, count);
        bytes4 selector = IAccessManager.getRoleTargets.selector;
        (bool ok, uint256 size) = askFor(page, manager, selector, 100, CONTRACT_GAS, 64 + count * 32);
        if (!ok || size < 64 + count * 32 || word(targets + 32) != count) targets = 0;
        page.answer = answer;
    }

    function writeTargets(Page memory page, uint256 targets) private pure {
        put(page, targets == 0 ? 0 : 1, 1);
        uint256 count = targets == 0 ? 0 : word(targets + 32);
        put(page, count, 1);
        for (uint256 i = 0; i < count; i++) put(page, word(targets + 64 + i * 32), 20);
    }

    function open(Page memory page, Spoke memory spoke) private view {
        if (!ask(page, spoke.at, ISpoke.ORACLE.selector, 32)) return;
        spoke.oracle = address(uint160(word(page.answer)));
        if (!ask(page, spoke.at, ISpoke.getReserveCount.selector, 32)) return;
        spoke.count = word(page.answer);
        if (spoke.count > RESERVES_MAX) return;
        spoke.reserves = reserve(spoke.count * RESERVE_BYTES);
        uint256 answer = page.answer;
        spoke.answered = true;
        for (uint256 id = 0; id < spoke.count; id++) {
            page.answer = spoke.reserves + id * RESERVE_BYTES;
            set(page.answer + 224, 0);
            if (!ask1(page, spoke.at, ISpoke.getReserve.selector, id, 224)) spoke.answered = false;
        }
        page.answer = answer;
    }

    /// Records of one wallet in one spoke: nothing if it has nothing there.
    function account(Page memory page, Spoke memory spoke, uint256 w, address wallet) private view {
        (bool ok, uint256 used) = readPositions(page, spoke, wallet);
        if (!ok) {
            put(page, 4, 1);
            put(page, w, 4);
            return put(page, spoke.index, 1);
        }
        if (used == 0) return;
        if (!spoke.written) writeSpoke(page, spoke);
        for (uint256 id = 0; id < spoke.count; id++) {
            uint256 place = spoke.reserves + id * RESERVE_BYTES;
            if (isUsed(spoke, id) && word(place + 224) == 0) writeReserve(page, spoke, id, place);
        }
        put(page, 3, 1);
        put(page, w, 4);
        put(page, spoke.index, 1);
        ok = ask1(page, spoke.at, ISpoke.getUserLastRiskPremium.selector, uint160(wallet), 32);
        optional(page, ok, 4);
        argument(page, 0, uint160(wallet));
        uint256 gasMax = ACCOUNT_GAS + used * ACCOUNT_RESERVE_GAS;
        uint256 size;
        (ok, size) = askFor(page, spoke.at, ISpoke.getUserAccountData.selector, 36, gasMax, 224);
        ok = ok && size >= 224;
        put(page, ok ? 1 : 0, 1);
        if (ok) for (uint256 i = 0; i < 7; i++) put(page, word(page.answer + i * 32), 32);
        put(page, used, 2);
        for (uint256 id = 0; id < spoke.count; id++) if (isUsed(spoke, id)) writeHolding(page, spoke, id, wallet);
    }

    /// Collects what the wallet supplies, owes or has switched on; `used` is 0 if it neither supplies nor owes.
    function readPositions(
        Page memory page,
        Spoke memory spoke,
        address wallet
    ) private view returns (bool ok, uint256 used) {
        uint256 answer = page.answer;
        uint256 any = 0;
        for (uint256 id = 0; id < spoke.count; id++) {
            uint256 place = spoke.positions + id * POSITION_BYTES;
            page.answer = place;
            ok = askUser(page, spoke.at, ISpoke.getUserPosition.selector, id, wallet, 160);
            page.answer = answer;
            if (!ok) return (false, 0);
            any |= word(place) | word(place + 32) | word(place + 64) | word(place + 96);
        }
        if (any == 0) return (true, 0);
        for (uint256 id = 0; id < spoke.count; id++) {
            if (!askUser(page, spoke.at, ISpoke.getUserReserveStatus.selector, id, wallet, 64)) return (false, 0);
            uint256 flags = (word(answer) & 1) | ((word(answer + 32) & 1) << 1);
            set(spoke.positions + id * POSITION_BYTES + 160, flags);
            if (isUsed(spoke, id)) used++;
        }
        return (true, used);
    }

    function isUsed(Spoke memory spoke, uint256 id) private pure returns (bool) {
        uint256 place = spoke.positions + id * POSITION_BYTES;
        return (word(place) | word(place + 32) | word(place + 64) | word(place + 96) | word(place + 160)) != 0;
    }

    function writeSpoke(Page memory page, Spoke memory spoke) private view {
        spoke.written = true;
        put(page, 1, 1);
        put(page, spoke.index, 1);
        put(page, ask(page, spoke.at, ISpoke.SPOKE_REVISION.selector, 32) ? word(page.answer) : 0, 8);
        bool ok = ask(page, spoke.at, ISpoke.getLiquidationConfig.selector, 96);
        put(page, ok ? 1 : 0, 1);
        put(page, ok ? word(page.answer) : 0, 16);
        put(page, ok ? word(page.answer + 32) : 0, 16);
        put(page, ok ? word(page.answer + 64) : 0, 2);
        bool lends = false;
        for (uint256 id = 0; id < spoke.count && !lends; id++) lends = mayLend(page, spoke, id);
        put(page, lends ? 1 : 0, 1);
    }

    /// Neither paused nor frozen, borrowable, active at its hub and not halted there.
    function mayLend(Page memory page, Spoke memory spoke, uint256 id) private view returns (bool) {
        uint256 place = spoke.reserves + id * RESERVE_BYTES;
        if (word(place + 160) & 7 != 4 || !askHub(page, spoke, place)) return false;
        return word(page.answer + 224) == 1 && word(page.answer + 256) == 0;
    }

    function writeReserve(Page memory page, Spoke memory spoke, uint256 id, uint256 place) private view {
        set(place + 224, 1);
        put(page, 2, 1);
        put(page, spoke.index, 1);
        put(page, id, 2);
        put(page, word(place + 32), 20);
        put(page, word(place + 64), 2);
        put(page, word(place + 96), 1);
        put(page, word(place + 128), 3);
        put(page, word(place + 160), 1);
        put(page, word(place + 192), 4);
        bool configured = writeConfiguration(page, spoke, id, word(place + 192));
        argument(page, 0, id);
        (bool ok, uint256 size) = askFor(page, spoke.oracle, IOracle.getReservePrice.selector, 36, PRICE_GAS, 32);
        optional(page, ok && size >= 32, 32);
        writeAsset(page, spoke, place, configured);
        describe(page, address(uint160(word(place))));
    }

    function writeAsset(Page memory page, Spoke memory spoke, uint256 place, bool configured) private view {
        address hub = address(uint160(word(place + 32)));
        uint256 asset = word(place + 64);
        uint256 answeredAt = page.cursor;
        put(page, 0, 1);
        put(page, ask(page, hub, IHub.HUB_REVISION.selector, 32) ? word(page.answer) : 0, 8);
        bool ok = ask1(page, hub, IHub.getAsset.selector, asset, ANSWER_BYTES) && configured;
        put(page, word(page.answer), 16);
        put(page, word(page.answer + 96), 16);
        put(page, word(page.answer + 192), 16);
        put(page, word(page.answer + 224), 16);
        put(page, word(page.answer + 256), 2);
        put(page, word(page.answer + 320), 16);
        ok = ask1(page, hub, IHub.getAssetDrawnIndex.selector, asset, 32) && ok;
        put(page, word(page.answer), 16);
        ok = ask1(page, hub, IHub.getAddedAssets.selector, asset, 32) && ok;
        put(page, word(page.answer), 32);
        ok = askHub(page, spoke, place) && ok;
        put(page, word(page.answer), 16);
        put(page, word(page.answer + 32), 16);
        put(page, word(page.answer + 192), 3);
        put(page, word(page.answer + 224), 1);
        put(page, word(page.answer + 256), 1);
        assembly ("memory-safe") {
            mstore8(answeredAt, ok)
        }
    }

    function writeHolding(Page memory page, Spoke memory spoke, uint256 id, address wallet) private view {
        uint256 place = spoke.positions + id * POSITION_BYTES;
        put(page, id, 2);
        uint256 flagsAt = page.cursor;
        put(page, 0, 1);
        put(page, word(place), 16);
        put(page, word(place + 32), 16);
        put(page, word(place + 64), 32);
        put(page, word(place + 96), 16);
        put(page, word(place + 128), 4);
        bool ok = writeConfiguration(page, spoke, id, word(place + 128));
        ok = askUser(page, spoke.at, ISpoke.getUserSuppliedAssets.selector, id, wallet, 32) && ok;
        put(page, word(page.answer), 32);
        ok = askUser(page, spoke.at, ISpoke.getUserDebt.selector, id, wallet, 64) && ok;
        put(page, word(page.answer), 32);
        put(page, word(page.answer + 32), 32);
        uint256 flags = word(place + 160) | (ok ? 4 : 0);
        assembly ("memory-safe") {
            mstore8(flagsAt, flags)
        }
    }

    function writeConfiguration(
        Page memory page,
        Spoke memory spoke,
        uint256 id,
        uint256 key
    ) private view returns (bool ok) {
        argument(page, 0, id);
        argument(page, 1, key);
        uint256 size;
        (ok, size) = askFor(page, spoke.at, ISpoke.getDynamicReserveConfig.selector, 68, CONTRACT_GAS, 96);
        ok = ok && size >= 96;
        put(page, ok ? word(page.answer) : 0, 2);
        put(page, ok ? word(page.answer + 32) : 0, 4);
    }

    /// What the hub keeps for this spoke of a reserve's asset.
    function askHub(Page memory page, Spoke memory spoke, uint256 place) private view returns (bool) {
        address hub = address(uint160(word(place + 32)));
        return askUser(page, hub, IHub.getSpoke.selector, word(place + 64), spoke.at, 320);
    }

    /// A call with a number and an address.
    function askUser(
        Page memory page,
        address target,
        bytes4 selector,
        uint256 id,
        address user,
        uint256 sizeMin
    ) private view returns (bool) {
        argument(page, 0, id);
        argument(page, 1, uint160(user));
        (bool ok, uint256 size) = askFor(page, target, selector, 68, CONTRACT_GAS, sizeMin);
        return ok && size >= sizeMin;
    }

    function optional(Page memory page, bool known, uint256 size) private pure {
        put(page, known ? 1 : 0, 1);
        put(page, known ? word(page.answer) : 0, size);
    }

    /// Where there is less gas than the cap, what fails could have failed for want of gas: the page ends instead.
    function beforeCall(Page memory page, uint256 gasMax) internal view override {
        if (gasleft() < gasMax + gasMax / 32 + END_GAS) finish(page);
    }
}
