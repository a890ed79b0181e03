// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

/// A price feed with the surface of a Chainlink aggregator, whose answer any account may set.
contract Feed {
    uint8 public immutable decimals;
    string public description;
    uint256 public constant version = 4;

    uint80 private _round;
    int256 private _answer;
    uint256 private _updatedAt;

    constructor(uint8 decimals_, string memory description_, int256 answer_) {
        decimals = decimals_;
        description = description_;
        set(answer_, 0);
    }

    /// `updatedAt_` 0 stands for "just now", at every block: a devnet that runs for days does not go stale by itself.
    function set(int256 answer_, uint256 updatedAt_) public {
        _round += 1;
        _answer = answer_;
        _updatedAt = updatedAt_;
    }

    function latestAnswer() external view returns (int256) {
        return _answer;
    }

    function latestRoundData() external view returns (uint80, int256, uint256, uint256, uint80) {
        uint256 updatedAt = _updatedAt == 0 ? block.timestamp : _updatedAt;
        return (_round, _answer, updatedAt, updatedAt, _round);
    }
}
