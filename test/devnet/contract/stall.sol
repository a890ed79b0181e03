// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

interface IPositions {
    function ownerOf(uint256) external view returns (address);
    function transferFrom(address, address, uint256) external;
}

interface IReward {
    function transfer(address, uint256) external returns (bool);
}

/// A custodian of position NFTs that pays for keeping them: so much a second for each, less a share for who claims
/// within the first day.
contract Stall {
    struct Keeping {
        address keeper;
        /// Place in the keeper's list.
        uint256 place;
        uint256 from;
        /// From when on the reward is not paid.
        uint256 since;
    }

    IPositions public immutable positions;
    IReward public immutable reward;
    uint256 public immutable rate;
    uint256 public constant PENALTY = 2_500;
    uint256 public constant TERM = 1 days;
    mapping(uint256 id => Keeping) public keepings;
    mapping(address keeper => uint256[]) private kept;

    constructor(IPositions positions_, IReward reward_, uint256 rate_) {
        (positions, reward, rate) = (positions_, reward_, rate_);
    }

    function keep(uint256 id) external {
        positions.transferFrom(msg.sender, address(this), id);
        keepings[id] = Keeping(msg.sender, kept[msg.sender].length, block.timestamp, block.timestamp);
        kept[msg.sender].push(id);
    }

    function giveBack(uint256 id) external {
        claim(id);
        uint256[] storage list = kept[msg.sender];
        (uint256 place, uint256 last) = (keepings[id].place, list[list.length - 1]);
        list[place] = last;
        keepings[last].place = place;
        list.pop();
        delete keepings[id];
        positions.transferFrom(address(this), msg.sender, id);
    }

    function claim(uint256 id) public returns (uint256 paid) {
        Keeping storage keeping = keepings[id];
        require(keeping.keeper == msg.sender, 'not yours');
        uint256 due = (block.timestamp - keeping.since) * rate;
        paid = block.timestamp < keeping.from + TERM ? due - due * PENALTY / 10_000 : due;
        keeping.since = block.timestamp;
        reward.transfer(msg.sender, paid);
    }

    function keptCount(address keeper) external view returns (uint256) {
        return kept[keeper].length;
    }

    function keptAt(address keeper, uint256 index) external view returns (uint256) {
        return kept[keeper][index];
    }

    function keeperOf(uint256 id) external view returns (address) {
        return keepings[id].keeper;
    }

    /// What the reward of a position follows from: its rate, since when it is not paid, and the penalty and its end.
    function rewardOf(uint256 id) external view returns (uint256, uint256, uint256, uint256) {
        Keeping storage keeping = keepings[id];
        return (rate, keeping.since, PENALTY, keeping.from + TERM);
    }
}
